"""Event counts as one poll reads them: plain frozen values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from exporter.exposition.histogram import Histogram

StreamKey = tuple[str, str]  # account, stream
ConsumerKey = tuple[str, str, str]  # account, stream, consumer

Key = TypeVar("Key")
Value = TypeVar("Value")


def _empty() -> Mapping[Key, Value]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ConsumerCounts:
    """Zero means that no such event was received, not that none happened."""

    naks: int = 0
    exhausted: int = 0
    last_exhausted_seq: int | None = None
    exhausted_seqs: frozenset[int] = frozenset()  # the latest; one of them may block the ack floor
    terms: tuple[tuple[str, int], ...] = ()  # by cause
    ack_times: Histogram | None = None
    exhausted_at: float | None = None  # when the last one was received


@dataclass(frozen=True, slots=True)
class StreamCounts:
    quorum_lost: int = 0
    restores: int = 0
    duplicates: int = 0  # as the publish-ack tap received them
    rejections: tuple[tuple[int, int], ...] = ()  # by error code
    # When the last one was received.
    quorum_lost_at: float | None = None
    restored_at: float | None = None


@dataclass(frozen=True, slots=True)
class TapState:
    """The publish-ack tap of the account `account`."""

    account: str
    active: bool
    dropped: int = 0
    breaks: int = 0  # lost connections and dropped messages


@dataclass(frozen=True, slots=True)
class EventCounts:
    consumers: Mapping[ConsumerKey, ConsumerCounts] = field(default_factory=_empty)
    streams: Mapping[StreamKey, StreamCounts] = field(default_factory=_empty)
    advisories: Mapping[tuple[str, str], int] = field(default_factory=_empty)  # by account, kind
    connected_since: float | None = None  # None: a subscription is missing
    tap: TapState | None = None  # None: not configured
    dropped: int = 0  # events that exceeded a bound of the memory


NO_EVENTS = EventCounts()
