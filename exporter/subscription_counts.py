"""What the servers' own subscriptions had received at one look: plain frozen values.

A subscription's counter starts at 0 when it is made, and its identity is never used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

StreamKey = tuple[str, str]  # account, stream
ConsumerKey = tuple[str, str, str]  # account, stream, consumer
# An exporter listens in a queue group of its own, named like this: by that every exporter, itself and
# its twin, tells from the list of subscriptions who only counts events and keeps no dead letter.
EXPORTER_GROUP = "streamgauge-exporter-"
# Id of the server's life, connection, subscription, and which of its copies; "" is the original.
CounterId = tuple[str, int, str, str]
Counters = tuple[tuple[CounterId, int], ...]  # messages received so far


class StreamObservation(Struct, frozen=True, gc=False):
    """What the leader of a stream had received on the stream's subjects."""

    leader: str
    created: datetime | None
    last_seq: int  # read just before the counters
    in_queue: bool | None  # whether received messages still waited to be stored; None: not known
    counters: Counters


class SubscriptionCounts(Struct, frozen=True):
    """Assets that are missing here were not looked at; that is not the same as zero."""

    streams: Mapping[StreamKey, StreamObservation]
    acks: Mapping[ConsumerKey, Counters]
    pulls: Mapping[ConsumerKey, Counters]
    # By account: the subscriptions that may hear of a message that ran out of deliveries.
    advisory_listeners: Mapping[str, frozenset[str]]
    whole_accounts: frozenset[str]  # of these every server's subscriptions were read
