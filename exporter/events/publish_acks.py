"""Finds duplicates and rejections among all replies of an account. Pure.

Checks the first bytes before decoding: nearly all replies are something else.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

_ACK = b'{"stream":"'
_DUPLICATE = b'"duplicate"'
_ERROR = b'{"error":{'
# A fast batch reports errors in a form of its own, without the stream name.
_FAST_BATCH_ERROR = b'{"type":"err",'
_OPENINGS = (_ERROR, _FAST_BATCH_ERROR)

# An ack is short: a stream name of 255 characters, a domain, an error text.
_LONGEST = 4096
_LEAST_CODE, _MOST_CODE = 10_000, 99_999

# Errors that mean duplicate: the first copy is in process (R3); a duplicate in an atomic batch.
DUPLICATE_CODES = frozenset({10158, 10201})
UNNAMED_STREAM = ""


class Unstored(Struct, frozen=True, gc=False):
    """A publish that the server received and did not store."""

    stream: str
    code: int | None = None  # None: a duplicate


class _Error(Struct, gc=False):
    err_code: int


class _Ack(Struct, gc=False):
    stream: str
    seq: int  # required, so that JSON of an application is not taken for an ack
    duplicate: bool = False
    error: _Error | None = None


class _FlowError(Struct, gc=False):
    seq: int
    error: _Error


_decode_ack = msgspec.json.Decoder(_Ack).decode
_decode_flow_error = msgspec.json.Decoder(_FlowError).decode


def read_publish_ack(payload: bytes) -> Unstored | None:
    """None for a stored publish and for any other reply."""
    if payload.startswith(_ACK):
        if _DUPLICATE not in payload:
            return None
    elif not payload.startswith(_OPENINGS):
        return None
    if len(payload) > _LONGEST:
        return None
    try:
        if payload.startswith(_FAST_BATCH_ERROR):
            return _with_code(UNNAMED_STREAM, _decode_flow_error(payload).error.err_code)
        return _unstored(_decode_ack(payload))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # a reply of an application that begins alike


def _unstored(ack: _Ack) -> Unstored | None:
    if not ack.stream:
        return None
    if ack.error is not None:
        return _with_code(ack.stream, ack.error.err_code)
    return Unstored(ack.stream) if ack.duplicate else None


def _with_code(stream: str, code: int) -> Unstored | None:
    if not _LEAST_CODE <= code <= _MOST_CODE:
        return None
    return Unstored(stream, None if code in DUPLICATE_CODES else code)
