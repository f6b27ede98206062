"""Write requests as the bytes of HTTP/1.1."""

from __future__ import annotations

from support.remote_write import messages as rw


def framed(body: bytes, *more: str) -> bytes:
    lines = [f"{name}: {text}" for name, text in rw.headers().items()]
    lines += ["Host: x", f"Content-Length: {len(body)}", *more]
    return "\r\n".join(("POST /api/v1/write HTTP/1.1", *lines, "", "")).encode() + body
