"""Responses to write requests: status code, one line of reason, headers of remote write 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from archive.remote_write.decoder import Version
from archive.remote_write.result import Written

_AGAIN: Final = {"Retry-After": "5"}
_WRITTEN: Final = "X-Prometheus-Remote-Write-{}-Written"
_SAMPLES, _HISTOGRAMS, _EXEMPLARS = map(_WRITTEN.format, ("Samples", "Histograms", "Exemplars"))
_NO_HEADERS: Final[Mapping[str, str]] = {}
NOTHING: Final = Written()


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
