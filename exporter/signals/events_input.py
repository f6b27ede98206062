"""Input of the signals besides the snapshot: events, and responses to single requests.

All of it is optional. Without it a signal is less exact or absent, never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

StreamKey = tuple[str, str]  # account, stream
ConsumerKey = tuple[str, str, str]  # account, stream, consumer


class LagMeasurement(Struct, frozen=True, gc=False):
    """The first message at or after `asked_from` that passes the consumer's filter."""

    requested_from: int  # ConsumerSignals.unfinished_seq at the time of the request
    seq: int
    stored: float  # its timestamp, seconds in the server's clock


class FilteredCount(Struct, frozen=True, gc=False):
    """How many stored messages pass a consumer's filter, with the consumer's state at that time.

    Valid only if the stream's last_seq was the same before and after the consumer request.
    """

    matching: int  # sum of STREAM.INFO {"subjects_filter"} over the consumer's filters
    removed: int  # last_seq - messages, from the same response: all messages ever removed
    deliveries: int  # delivered.consumer_seq
    num_pending: int


class EventsInput(Struct, frozen=True):
    """Values by consumer. Counts only grow: the caller handles resets."""

    # Last stream sequences that ran out of max_deliver: one of them may hold the ack floor.
    exhausted: Mapping[ConsumerKey, frozenset[int]] = field(default_factory=dict)
    naks: Mapping[ConsumerKey, int] = field(default_factory=dict)
    acks: Mapping[ConsumerKey, int] = field(default_factory=dict)  # all ack-type replies (SUBSZ)
    lags: Mapping[ConsumerKey, LagMeasurement] = field(default_factory=dict)
    counts: Mapping[ConsumerKey, FilteredCount] = field(default_factory=dict)
    # Accounts whose delivery advisories are received: there, no nak event means no nak.
    listening: frozenset[str] = frozenset()


NO_EVENTS = EventsInput()
