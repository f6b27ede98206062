"""Remote write over HTTP: the version from the request headers, the status and headers of responses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from archive.remote_write.decoder import Version
from archive.remote_write.result import Written

_PROTOBUF: Final = "application/x-protobuf"
_MESSAGES: Final = {
    "": Version.V1,  # 1.0 does not name its message, and many senders set no Content-Type
    "prometheus.writerequest": Version.V1,
    "io.prometheus.write.v2.request": Version.V2,
}
_ENCODINGS: Final = ("snappy", "")
_AGAIN: Final = {"Retry-After": "5"}
_WRITTEN: Final = "X-Prometheus-Remote-Write-{}-Written"
_SAMPLES, _HISTOGRAMS, _EXEMPLARS = map(_WRITTEN.format, ("Samples", "Histograms", "Exemplars"))
_NO_HEADERS: Final[Mapping[str, str]] = {}
NOTHING: Final = Written()


class RequestInfo(NamedTuple):
    """What the receiver needs from the request headers."""

    version: Version
    sender: str
    user_agent: str


class UnsupportedError(Exception):
    """The receiver does not support this type or encoding. The text names the supported ones."""


@lru_cache(maxsize=64)  # a sender uses the same headers in every request
def version_of(content_type: str, content_encoding: str) -> Version:
    if content_encoding.strip().lower() not in _ENCODINGS:
        raise UnsupportedError(f'Content-Encoding "{content_encoding}" is not snappy')
    kind, *parameters = (part.strip() for part in content_type.split(";"))
    if kind.lower() not in (_PROTOBUF, ""):
        raise UnsupportedError(f'Content-Type "{content_type}" is not {_PROTOBUF}')
    message = ""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "proto":
            message = value.strip().strip('"')
    version = _MESSAGES.get(message.lower())
    if version is None:
        known = "prometheus.WriteRequest and io.prometheus.write.v2.Request"
        raise UnsupportedError(f'proto="{message}" is unknown (known are {known})')
    return version


class WriteResponse(NamedTuple):
    code: int
    reason: str = ""
    headers: Mapping[str, str] = _NO_HEADERS

    @property
    def text(self) -> str:
        return f"{self.reason}\n" if self.reason else ""


def durable(version: Version, written: Written) -> WriteResponse:
    return WriteResponse(204, "", _headers(version, written))


def refused(version: Version, reason: str, written: Written = NOTHING) -> WriteResponse:
    return WriteResponse(400, reason, _headers(version, written))


def later(version: Version, reason: str) -> WriteResponse:
    return WriteResponse(503, reason, {**_headers(version, NOTHING), **_AGAIN})


def _headers(version: Version, written: Written) -> Mapping[str, str]:
    """A 2.0 sender takes a response without them for one of 1.0. A 1.0 response has none."""
    if version is Version.V1:
        return _NO_HEADERS
    return {
        _SAMPLES: str(written.samples),
        _HISTOGRAMS: str(written.histograms),
        _EXEMPLARS: str(written.exemplars),
    }
