"""The results of the signals for each stream and consumer."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from exporter.signals.conditions.held import Held
from exporter.signals.conditions.words import Unjudged
from exporter.signals.event_count import Events
from exporter.signals.events_input import ConsumerKey, StreamKey


class ConsumerSignals(Struct, frozen=True, gc=False):
    """None means unknown or not applicable: the metric has no series."""

    redeliveries: int
    recreated: int
    leader_changes: int
    verdict: int | None
    verdict_since: float
    redelivery_ratio: float | None = None
    redelivery_exact: int | None = None
    redelivery_cause: int | None = None
    lost: int | None = None
    purged: int | None = None
    lost_waiting: int | None = None
    lost_exact: int | None = None
    lag: float | None = None
    lag_exact: int | None = None
    headroom_seconds: float | None = None
    headroom_ratio: float | None = None
    stalled: float | None = None
    floor_stalled: float | None = None
    floor_exhausted: int | None = None
    ahead: int | None = None
    blocking_stream_seq: int | None = None
    unfinished_seq: int | None = None  # an exact lag request starts at this sequence
    ack_floor_gap: int | None = None
    ack_floor_gap_deliveries: int | None = None
    ack_floor_gap_ratio: float | None = None
    conditions: Held = ()  # gravest first; exporter's clock
    unjudged: Unjudged = ()
    lost_upper: int | None = None  # `lost` is the lower bound


class StreamSignals(Struct, frozen=True, gc=False):
    recreated: int
    regressions: int
    leader_changes: int
    purged: int
    consumers_removed: int
    divergence: tuple[tuple[str, int], ...]
    dedupe_window_messages: int | None


class Signals(Struct, frozen=True):
    """An asset that is not up has only its verdict and its counters."""

    consumers: Mapping[ConsumerKey, ConsumerSignals] = field(default_factory=dict)
    streams: Mapping[StreamKey, StreamSignals] = field(default_factory=dict)
    # These only of assets that have any.
    consumer_events: Mapping[ConsumerKey, Events] = field(default_factory=dict)
    stream_events: Mapping[StreamKey, Events] = field(default_factory=dict)
    stream_conditions: Mapping[StreamKey, Held] = field(default_factory=dict)
    server_conditions: Mapping[str, Held] = field(default_factory=dict)
    stream_unjudged: Mapping[StreamKey, Unjudged] = field(default_factory=dict)
    server_unjudged: Mapping[str, Unjudged] = field(default_factory=dict)
    unjudged: Mapping[tuple[str, str], int] = field(default_factory=dict)  # by condition, reason
    # Removed in the last hour, but too many to remember: not recognised if they come back.
    removed_dropped: int = 0
