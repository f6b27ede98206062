"""Content negotiation of remote write: the version and the sender, from the request headers."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from archive.remote_write.decoder import Version

_PROTOBUF: Final = "application/x-protobuf"
_MESSAGES: Final = {
    "": Version.V1,  # 1.0 does not name its message, and many senders set no Content-Type
    "prometheus.writerequest": Version.V1,
    "io.prometheus.write.v2.request": Version.V2,
}
_ENCODINGS: Final = ("snappy", "")


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
