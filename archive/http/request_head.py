"""The head of a plain write request. Whatever is not plain in the strictest sense is not for here."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

MAX_HEAD: Final = 8_190
"""Bytes of a head that is looked at."""
END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\x20-\x7e\t]*)")
_SIZE: Final = re.compile(
    rb"\r\ncontent-length:[ \t]*([0-9]{1,10})[ \t]*(?=\r\n|\Z)", re.IGNORECASE
)
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
    size = _SIZE.search(head)
    if size is None:
        return None
    rest = _rest(head[: size.start()] + head[size.end() :], request_line)
    return None if rest is None else Head(int(size[1]), *rest[1:])


@lru_cache(maxsize=256)  # a sender says the same in every request, but for the size
def _rest(head: bytes, request_line: bytes) -> Head | None:
    first, *lines = head.split(b"\r\n")
    if first != request_line:
        return None
    # Which of two counts is a request of its own, and so is a second size.
    fields = {b"content-length": _EMPTY}
    for line in lines:
        found = _LINE.fullmatch(line)
        name = found[1].lower() if found is not None else _EMPTY
        if found is None or name in fields:
            return None
        fields[name] = found[2].rstrip(b" \t")
    if not _NOT_PLAIN.isdisjoint(fields):
        return None
    if fields.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    authorization = fields.get(b"authorization")
    return Head(
        0,
        fields.get(b"content-type", _EMPTY).decode(),
        fields.get(b"content-encoding", _EMPTY).decode(),
        None if authorization is None else authorization.decode(),
        fields.get(b"user-agent", _EMPTY).decode(),
    )
