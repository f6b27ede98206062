"""Write requests as bytes, for the short way."""

from __future__ import annotations

from typing import Final

from support.remote_write import messages as rw

LINE: Final = b"POST /api/v1/write HTTP/1.1"


def framed(body: bytes, *more: str) -> bytes:
    lines = [f"{name}: {text}" for name, text in rw.headers().items()]
    lines += ["Host: x", f"Content-Length: {len(body)}", *more]
    return "\r\n".join((LINE.decode(), *lines, "", "")).encode() + body
