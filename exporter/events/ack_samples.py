"""Ack samples: time from delivery to ack, as the server measured it. Pure.

Only consumers with `sample_freq` have them; the time starts again at each redelivery.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

SUBJECT = "$JS.EVENT.METRIC.CONSUMER.ACK.>"

# From a handler that only counts, to one that calls a slow service: ten times the default
# ack_wait of 30 s.
BOUNDS_SECONDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
)  # fmt: skip

_NANOSECONDS = 1e9
# A server that lost a message's delivery time counts from 1970.
_LONGEST_SECONDS = 366 * 86400.0


class AckSample(Struct, frozen=True, gc=False):
    stream: str
    consumer: str
    seconds: float
    domain: str = ""


class _Payload(Struct, gc=False):
    stream: str
    consumer: str
    ack_time: int
    domain: str = ""


_decode = msgspec.json.Decoder(_Payload).decode


def read_ack_sample(payload: bytes) -> AckSample | None:
    """None when the payload is not a usable sample."""
    try:
        fields = _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    seconds = fields.ack_time / _NANOSECONDS
    if not fields.stream or not fields.consumer or not 0 <= seconds <= _LONGEST_SECONDS:
        return None
    return AckSample(fields.stream, fields.consumer, seconds, fields.domain)
