"""Decompresses replies: the first bytes, or the whole up to a limit."""

from __future__ import annotations

import zlib
from typing import cast

from isal import igzip_lib, isal_zlib

from exporter.errors import MalformedResponseError, RequestError
from exporter.sources.transport.connection import Reply

_GZIP = 31  # zlib's wbits for a gzip stream
_GLANCE_BYTES = 4096
_BROKEN = cast(type[Exception], igzip_lib.IsalError)  # the library's stub calls it a value


def first_bytes(reply: Reply) -> bytes:
    """Enough of a reply to identify the server, without decompressing all of it."""
    if reply.headers.get("Content-Encoding") != "gzip":
        return reply.data[:_GLANCE_BYTES]
    try:
        return zlib.decompressobj(_GZIP).decompress(reply.data[:_GLANCE_BYTES], _GLANCE_BYTES)
    except zlib.error:
        return b""


def unpacked(reply: Reply, max_bytes: int) -> bytes:
    if reply.headers.get("Content-Encoding") != "gzip":
        return reply.data  # the connection bounds what it receives
    unpacker = isal_zlib.decompressobj(_GZIP)
    try:
        data = unpacker.decompress(reply.data, max_bytes)
    except _BROKEN as error:
        raise MalformedResponseError(f"a gzip response cannot be decompressed: {error}") from error
    if unpacker.unconsumed_tail:
        raise RequestError("size", f"a response decompresses to more than {max_bytes} bytes")
    return data
