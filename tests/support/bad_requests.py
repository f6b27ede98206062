"""Requests that are malformed in or near a header with a password."""

from __future__ import annotations

from typing import Final

SECRET: Final = "U0VDUkVU"
_BEGIN: Final = b"POST / HTTP/1.1\r\nHost: h\r\n"
_SECRET: Final = SECRET.encode()
BAD_REQUESTS: Final = {
    "value with a zero byte": _BEGIN + b"Authorization: Basic " + _SECRET + b"\0\r\n\r\n",
    "name with a space": _BEGIN + b"Authori zation: Basic " + _SECRET + b"\r\n\r\n",
    "long value": _BEGIN + b"Authorization: Basic " + _SECRET + b"A" * 9_000 + b"\r\n\r\n",
    "long name": _BEGIN + _SECRET + b"A" * 9_000 + b": x\r\n\r\n",
    "cookie": _BEGIN + b"Cookie: session=" + _SECRET + b"\1\r\n\r\n",
    "length": _BEGIN + b"Content-Length: " + _SECRET + b"\r\n\r\n",
    "chunk": _BEGIN + b"Transfer-Encoding: chunked\r\n\r\n" + _SECRET + b"\r\n",
    "trailer": _BEGIN + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX " + _SECRET + b"\r\n\r\n",
    "method": _SECRET + b"\0 / HTTP/1.1\r\n\r\n",
    "address": b"GET http://[" + _SECRET + b"/ HTTP/1.1\r\nHost: h\r\n\r\n",
}
