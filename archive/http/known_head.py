"""The head of a request that a sender repeats, and the bytes of responses to such requests."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from time import time
from typing import Final, NamedTuple

from archive.ingest.protocol import RequestInfo, WriteResponse

_MAX_DIGITS: Final = 10


class KnownHead(NamedTuple):
    """The head of a request that was accepted: all bytes but the digits of its size."""

    before: bytes
    behind: bytes
    info: RequestInfo
    access: object
    """The web configuration and the tokens by which it was accepted."""
    headers: Mapping[str, str]
    """Of every response."""

    def size_in(self, data: bytes) -> tuple[int, int] | None:
        """The size and the start of the body; None for another head."""
        begin = len(self.before)
        end = data.find(b"\r", begin, begin + _MAX_DIGITS + 1)
        if end < 0 or not data.startswith(self.before) or not data.startswith(self.behind, end):
            return None
        digits = data[begin:end]
        return (int(digits), end + len(self.behind)) if digits.isdigit() else None


def response_bytes(response: WriteResponse, headers: Mapping[str, str]) -> bytes:
    head = _head(response.code, int(time()), tuple(headers.items()))
    if response.code == HTTPStatus.NO_CONTENT and not response.headers:
        return head + b"\r\n"
    text = response.text.encode()
    lines = [f"{name}: {value}\r\n" for name, value in response.headers.items()]
    if response.code != HTTPStatus.NO_CONTENT:
        lines.append(f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(text)}\r\n")
    return b"".join((head, *(line.encode() for line in lines), b"\r\n", text))


@lru_cache(maxsize=16)
def _head(code: int, second: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    lines = [
        f"HTTP/1.1 {code} {HTTPStatus(code).phrase}",
        f"Date: {formatdate(second, usegmt=True)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers]
    return "".join(f"{line}\r\n" for line in lines).encode()
