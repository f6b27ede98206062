"""Sends gauges by remote write 1.0."""

from __future__ import annotations

import base64
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import pyarrow as pa  # type: ignore[import-untyped]

from spark_rollups.filesystem import RollupError
from spark_rollups.publishing.gauges import Gauge
from streamgauge.protobuf import write_labels, write_message, write_sample

_SERIES_PER_REQUEST: Final = 2_000
_ATTEMPTS: Final = 6
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 10.0
_TIMEOUT: Final = 30.0
_TOO_MANY: Final = 429
_HEADERS: Final = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "User-Agent": "streamgauge-rollup",
}

Pause = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Receiver:
    """The URL, without credentials, and the Authorization header."""

    url: str
    authorization: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RollupError(f"--remote-write: {_hidden(self.url)} is not an http or https URL")
        if parts.username or parts.password:
            raise RollupError(
                f"--remote-write: {_hidden(self.url)} contains a user name: "
                "use --remote-write-user and --remote-write-password-file"
            )


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def bearer(token: str) -> str:
    return f"Bearer {token}"


def send(
    gauges: Sequence[Gauge],
    receiver: Receiver,
    at: float,
    more: Mapping[str, str],
    pause: Pause = time.sleep,
) -> None:
    """`more` are labels of all samples. Retries on 429, 5xx and network errors."""
    for first in range(0, len(gauges), _SERIES_PER_REQUEST):
        part = gauges[first : first + _SERIES_PER_REQUEST]
        _post(receiver, compressed(write_request(part, round(at * 1000), more)), pause)


def write_request(gauges: Iterable[Gauge], at: int, more: Mapping[str, str]) -> bytes:
    """The message prometheus.WriteRequest; `at` in milliseconds."""
    return b"".join(_series(gauge, at, more) for gauge in gauges)


def compressed(message: bytes) -> bytes:
    """Snappy block format, from pyarrow."""
    packed: bytes = pa.Codec("snappy").compress(message, asbytes=True)
    return packed


def _series(gauge: Gauge, at: int, more: Mapping[str, str]) -> bytes:
    named = dict(zip(gauge.metric.labels, gauge.labels, strict=True))
    labels = {**more, **named, "__name__": gauge.metric.name}
    present = write_labels({key: value for key, value in labels.items() if value})
    return write_message(1, present + write_sample(gauge.value, at))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Rejects redirects: a redirected POST becomes a GET, and the samples are lost silently."""

    def redirect_request(self, *_: object) -> None:
        return None


def _post(receiver: Receiver, body: bytes, pause: Pause) -> None:
    headers = dict(_HEADERS)
    if receiver.authorization:
        headers["Authorization"] = receiver.authorization
    opener = urllib.request.build_opener(_NoRedirect)
    waiting, reason = _FIRST_PAUSE, ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            pause(waiting)
            waiting = min(waiting * 2, _LONGEST_PAUSE)
        request = urllib.request.Request(receiver.url, body, headers, method="POST")  # noqa: S310  checked: http or https
        try:
            with opener.open(request, timeout=_TIMEOUT):
                return
        except urllib.error.HTTPError as error:
            with error:
                reason = f"{error.code} {_first_line(error.read(2000))}".strip()
            if error.code < 500 and error.code != _TOO_MANY:
                raise RollupError(f"{receiver.url}: request rejected: {reason}") from error
        except OSError as error:
            reason = str(getattr(error, "reason", None) or error)
    raise RollupError(f"{receiver.url}: failed after {_ATTEMPTS} attempts: {reason}")


def _first_line(text: bytes) -> str:
    return (text.decode("utf-8", "replace").strip().splitlines() or [""])[0]


def _hidden(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//***@", url)
