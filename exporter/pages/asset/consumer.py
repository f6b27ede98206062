"""The page of one consumer."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.model import Consumer, ConsumerConfig
from exporter.pages.asset.view import (
    AssetView,
    Chart,
    Fact,
    PageSource,
    owner_notes,
    per_second,
    replica_table,
    seconds,
    shown,
)
from exporter.pages.status import links
from exporter.pages.status.problems import consumer_problems
from exporter.pages.status.wording import number, percent, span
from exporter.pages.tables.consumers import state_text
from exporter.signals.results import ConsumerSignals

_CHARTS = (
    Chart("num_pending", "Pending", number),
    Chart("lag", "Lag", span),
    Chart("num_ack_pending", "Ack pending", number),
    Chart("redelivery_ratio", "Redelivery ratio", percent),
    Chart("delivered", "Deliveries", per_second, rate=True),
)


def consumer_page(row: Consumer, source: PageSource) -> AssetView:
    facts, key = source.facts, (row.account, row.stream, row.name)
    problems, signals = consumer_problems(row, facts), facts.signals.consumers.get(key)
    stream = links.asset_page("stream", source.system, key[:2])
    return source.view(
        "consumer", key, state_text(row, facts, problems), problems, _CHARTS,
        path=(Fact("Account", row.account), Fact("Stream", row.stream, href=stream)),
        numbers=_numbers(row, signals, source) if row.up else (),
        configuration=_configuration(row.config) if row.config else (),
        tables=replica_table(row.leader, row.replicas, "entries"),
        unjudged=signals.unjudged if signals else (),
    )  # fmt: skip


def _numbers(row: Consumer, signals: ConsumerSignals | None, source: PageSource) -> Iterator[Fact]:
    most = row.config.max_ack_pending if row.config else None
    yield Fact("Pending", f"{row.num_pending:,}")
    yield Fact("Ack pending", f"{row.num_ack_pending:,}", f"of {most:,}" if most else "")
    yield Fact("Redelivered", f"{row.num_redelivered:,}", "not acked")
    if row.config is None or row.config.kind == "pull":
        yield Fact("Waiting pulls", f"{row.num_waiting:,}")
    else:
        yield Fact("Subscriber", "bound" if row.push_bound else "not bound")
    if signals is not None:
        yield from _signals(signals)
    moments = (("Last delivery", row.last_delivery), ("Last ack", row.last_ack))
    yield from source.moments(row.leader, moments)
    yield Fact("Delivered up to", f"{row.delivered_stream_seq:,}", "stream sequence")
    yield Fact("Ack floor", f"{row.ack_floor_stream_seq:,}", "stream sequence")
    yield Fact("Leader", row.leader or "–")


def _signals(signals: ConsumerSignals) -> Iterator[Fact]:
    if signals.lag is not None:
        yield Fact("Lag", span(signals.lag), "oldest unfinished")
    if signals.redelivery_ratio is not None:
        yield Fact("Redelivery ratio", percent(signals.redelivery_ratio), "of five minutes")
    if signals.headroom_seconds is not None:
        yield Fact("Headroom", span(max(0.0, signals.headroom_seconds)), "until removal")
    if signals.lost:
        yield Fact("Lost", f"{signals.lost:,}", "before delivery")


def _configuration(config: ConsumerConfig) -> tuple[Fact, ...]:
    return shown(
        (
            ("Kind", ("durable " if config.durable else "ephemeral ") + config.kind),
            ("Ack policy", config.ack_policy),
            ("ack_wait", seconds(config.ack_wait_seconds)),
            ("max_deliver", config.max_deliver or "unlimited"),
            ("Backoff", tuple(span(each) for each in config.backoff_seconds)),
            ("max_ack_pending", config.max_ack_pending),
            ("max_waiting", config.max_waiting),
            ("max_batch", config.max_batch),
            ("Deliver policy", config.deliver_policy),
            ("Replay policy", config.replay_policy),
            ("Filters", config.filters),
            ("Deliver group", config.deliver_group),
            ("Replicas", config.replicas),
            ("Inactive threshold", seconds(config.inactive_threshold_seconds)),
            ("State in memory", config.memory_storage),
            *owner_notes(config.notes),
        )
    )
