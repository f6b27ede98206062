"""The head of a plain write request. Whatever is not plain in the strictest sense is not for here."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

MOST_HEAD: Final = 8_190
"""Bytes of a head that is looked at."""
END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\x20-\x7e\t]*)")
_SIZE: Final = re.compile(rb"[0-9]{1,10}")
# They change how the rest is to be read, or what is to be answered before it is.
_NOT_PLAIN: Final = frozenset(
    (b"transfer-encoding", b"expect", b"upgrade", b"trailer", b"te", b"proxy-connection")
)
_EMPTY: Final = b""


class Head(NamedTuple):
    size: int
    """Bytes of the body."""
    content_type: str
    content_encoding: str
    authorization: str | None
    user_agent: str


def read_head(head: bytes, request_line: bytes) -> Head | None:
    """`head` is without its last empty line; None when it is another request, or not plain."""
    first, *lines = head.split(b"\r\n")
    if first != request_line:
        return None
    fields: dict[bytes, bytes] = {}
    for line in lines:
        found = _field(line)
        if found is None or found[0] in fields:  # which of two counts is a question of its own
            return None
        fields[found[0]] = found[1]
    size = _SIZE.fullmatch(fields.get(b"content-length", _EMPTY))
    if size is None or not _NOT_PLAIN.isdisjoint(fields):
        return None
    if fields.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    return _head(int(size[0]), fields)


@lru_cache(maxsize=256)  # a sender says the same in every request, but for the size
def _field(line: bytes) -> tuple[bytes, bytes] | None:
    found = _LINE.fullmatch(line)
    return None if found is None else (found[1].lower(), found[2].rstrip(b" \t"))


def _head(size: int, fields: dict[bytes, bytes]) -> Head:
    authorization = fields.get(b"authorization")
    return Head(
        size,
        fields.get(b"content-type", _EMPTY).decode(),
        fields.get(b"content-encoding", _EMPTY).decode(),
        None if authorization is None else authorization.decode(),
        fields.get(b"user-agent", _EMPTY).decode(),
    )
