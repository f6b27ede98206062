"""The values behind a condition, in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from exporter.model import Consumer, Server, Stream
from exporter.pages.status.wording import count, percent, signed, size, span
from exporter.signals.conditions.streams import fill_ratio
from exporter.signals.results import ConsumerSignals

# A shorter lag is normal processing time.
_MIN_LAG_SECONDS = 5.0

# Where messages wait: how old they are matters.
_WITH_LAG = frozenset(
    {
        "losing_messages", "ack_pending_full", "stalled", "nothing_finished", "ack_floor_stuck",
        "no_worker_pulls", "not_bound", "falling_behind", "paused_backlog",
    }
)  # fmt: skip

_Facts = Callable[[Consumer, ConsumerSignals], Iterator[str]]


def consumer_evidence(word: str, row: Consumer, signals: ConsumerSignals | None) -> str:
    if not row.up:
        return row.reason.replace("_", " ") or "its leader did not respond"
    if signals is None or word not in _CONSUMER:
        return ""
    lag = _lag(signals) if word in _WITH_LAG else ()
    return ", ".join((*_CONSUMER[word](row, signals), *lag))


def stream_evidence(word: str, row: Stream) -> str:
    if not row.up:
        return row.reason.replace("_", " ") or "its leader did not respond"
    return ", ".join(_of_stream(word, row))


def server_evidence(word: str, row: Server) -> str:
    return ", ".join(filter(None, _of_server(word, row)))


def _lag(signals: ConsumerSignals) -> Iterator[str]:
    if signals.lag is not None and signals.lag >= _MIN_LAG_SECONDS:
        yield f"oldest unfinished {span(signals.lag)} old"


def _pending(row: Consumer, _: ConsumerSignals) -> Iterator[str]:
    yield f"{row.num_pending:,} pending"


def _undelivered(row: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    yield f"{row.num_pending:,} pending"
    if signals.stalled:
        yield f"nothing delivered for {span(signals.stalled)}"


def _no_pull(row: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    yield "no pull request waits"
    yield from _undelivered(row, signals)


def _unbound(row: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    yield "no subscriber is bound"
    yield from _undelivered(row, signals)


def _stalled(row: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    yield f"{row.num_waiting:,} pulls wait" if row.num_waiting else "clients wait for messages"
    yield from _undelivered(row, signals)


def _unacked(row: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    limit = row.config.max_ack_pending if row.config else None
    of = f" of {limit:,}" if limit else ""
    yield f"{row.num_ack_pending:,}{of} unacknowledged"
    yield from _floor(row, signals)


def _floor(_: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    if signals.floor_stalled:
        yield f"ack floor unchanged for {span(signals.floor_stalled)}"
    if signals.floor_exhausted:
        yield "ack floor held by messages that reached max_deliver"


def _redelivered(_: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    if signals.redelivery_ratio is not None:
        yield f"{percent(signals.redelivery_ratio)} of deliveries are redeliveries"


def _looping(row: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    yield from _redelivered(row, signals)
    yield from _floor(row, signals)


def _lost(_: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    if signals.lost is not None:
        yield f"{signals.lost:,} lost before delivery"


def _headroom(_: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    if signals.headroom_seconds is not None:
        yield f"the next is removed in {span(max(0.0, signals.headroom_seconds))}"
    elif signals.headroom_ratio is not None:
        yield f"{percent(signals.headroom_ratio)} of the retention is left"


def _gap(_: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    if signals.ack_floor_gap_deliveries is not None:
        yield f"{signals.ack_floor_gap_deliveries:,} deliveries above the ack floor"


def _late(row: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    if row.config and row.config.ack_wait_seconds:
        yield f"ack_wait is {span(row.config.ack_wait_seconds)}"
    yield from _redelivered(row, signals)


def _abandoned(row: Consumer, _: ConsumerSignals) -> Iterator[str]:
    if row.num_redelivered > row.num_ack_pending:
        yield f"at least {row.num_redelivered - row.num_ack_pending:,} reached max_deliver"


def _long_jobs(row: Consumer, signals: ConsumerSignals) -> Iterator[str]:
    yield "in-progress acks extend ack_wait"
    yield from _floor(row, signals)


_CONSUMER: Mapping[str, _Facts] = {
    "losing_messages": _lost,
    "ack_pending_full": _unacked,
    "stalled": _stalled,
    "nothing_finished": _looping,
    "redelivery_loop": _looping,
    "ack_floor_stuck": _floor,
    "no_worker_pulls": _no_pull,
    "not_bound": _unbound,
    "falling_behind": _pending,
    "headroom_low": _headroom,
    "messages_abandoned": _abandoned,
    "acks_late": _late,
    "nak_loop": _redelivered,
    "redelivery_high": _redelivered,
    "ack_pending_high": _unacked,
    "ack_floor_gap_high": _gap,
    "paused_backlog": _pending,
    "long_jobs": _long_jobs,
}


def _of_stream(word: str, row: Stream) -> Iterator[str]:
    if word in ("full", "filling", "back_pressure"):
        ratio = fill_ratio(row)
        yield f"{percent(ratio)} of its limit used, {count(row.messages, 'message')}, {size(row.bytes)}"
    elif word in ("replica_offline", "quorum_at_risk"):
        offline = [each.server for each in row.replicas if each.offline]
        if offline:
            yield f"offline: {', '.join(offline)}"
        yield f"{len(row.replicas) + 1} replicas"
    elif word == "replica_lagging":
        worst = max(row.replicas, key=lambda each: each.lag)
        yield f"{worst.server} is {worst.lag:,} entries behind"
    elif word == "mirror_stale":
        for origin in row.origins:
            seen = "never active" if origin.active_seconds is None else f"last active {span(origin.active_seconds)} ago"  # fmt: skip
            yield f"{origin.name}: {origin.error or seen}"
    elif word == "diverged":
        for server, messages in row.follower_messages:
            yield f"{server} holds {messages:,}"
        yield f"the leader holds {row.messages:,}"
    elif word == "no_interest":
        yield f"no consumer, last sequence {row.last_seq:,}"
    elif word == "unreachable_messages":
        yield f"{count(row.messages, 'message')}, none pending on its {count(row.consumers, 'consumer')}"
    elif word == "index_damaged":
        yield f"{count(row.subjects, 'subject')}, {count(row.messages, 'message')}"
    elif word == "damaged_store":
        yield f"{count(row.lost, 'message')} lost"


def _of_server(word: str, row: Server) -> Iterator[str]:
    if word == "unhealthy":
        yield row.health_detail
    elif word == "storage_high":
        yield f"storage {size(row.storage_used)} of {size(row.storage_max)}"
        if row.memory_max:
            yield f"memory {size(row.memory_used)} of {size(row.memory_max)}"
    elif word == "clock_off" and row.clock:
        yield f"{signed(row.clock.offset_seconds)} ± {span(row.clock.uncertainty_seconds)}"
    elif word == "down":
        yield row.version and f"version {row.version}"
