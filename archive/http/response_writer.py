"""Answers as the bytes of HTTP/1.1, for connections that aiohttp does not look after."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

from archive.ingest.response import WriteResponse

_NO_CONTENT: Final = HTTPStatus.NO_CONTENT.value


class ResponseWriter:
    """`headers` are those of every answer, as the web configuration has them now."""

    def __init__(self, headers: Callable[[], Mapping[str, str]]) -> None:
        self._headers = headers
        self._last: tuple[WriteResponse, int, Mapping[str, str]] | None = None
        self._bytes = b""

    def written(self, answer: WriteResponse) -> bytes:
        asked = (answer, int(time.time()), self._headers())
        if asked != self._last:  # most are the same as the one before
            self._last, self._bytes = asked, _written(*asked)
        return self._bytes


def _written(answer: WriteResponse, now: int, headers: Mapping[str, str]) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.code} {HTTPStatus(answer.code).phrase}",
        f"Date: {formatdate(now, usegmt=True)}",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    body = answer.text.encode()
    if answer.code != _NO_CONTENT:
        lines += ["Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}"]
    return "\r\n".join((*lines, "", "")).encode() + body
