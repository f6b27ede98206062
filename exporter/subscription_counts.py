"""Message counts of the servers' own subscriptions at one poll: plain frozen values.

A subscription's counter starts at 0 when it is created, and its identity is never reused.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

StreamKey = tuple[str, str]  # account, stream
ConsumerKey = tuple[str, str, str]  # account, stream, consumer
# Prefix of the queue group in which each exporter subscribes. It marks the exporters in a list of
# subscriptions: they only count events and are not dead-letter handlers.
EXPORTER_GROUP = "streamgauge-exporter-"
# Server id (new after a restart), connection, subscription, and its copy; "" is the original.
CounterId = tuple[str, int, str, str]
Counters = tuple[tuple[CounterId, int], ...]  # messages received so far


class StreamObservation(Struct, frozen=True, gc=False):
    """What the leader of a stream had received on its subjects."""

    leader: str
    created: datetime | None
    last_seq: int  # read just before the counters
    in_queue: bool | None  # whether received messages still waited to be stored; None: unknown
    counters: Counters


class SubscriptionCounts(Struct, frozen=True):
    """Streams and consumers that are absent here were not read; that does not mean zero."""

    streams: Mapping[StreamKey, StreamObservation]
    acks: Mapping[ConsumerKey, Counters]
    pulls: Mapping[ConsumerKey, Counters]
    # By account: the subscriptions that may receive max-deliveries advisories.
    advisory_listeners: Mapping[str, frozenset[str]]
    whole_accounts: frozenset[str]  # accounts whose subscriptions were read on every server
