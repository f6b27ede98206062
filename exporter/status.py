"""What the pollers know -> the views of the status page."""

from __future__ import annotations

import heapq
import time

from exporter.model import Consumer, Server
from exporter.poll import SystemPoller
from exporter.samples.consumer import ack_floor_gap
from exporter.status_view import (
    ConsumerView,
    QuestionView,
    ServerView,
    Source,
    State,
    StatusView,
    SystemView,
)
from exporter.version import VERSION
from exporter.watch import Watch

MOST_ROWS = 1000
_SOURCES: dict[str, Source] = {"account": "account", "system": "system", "monitor": "monitor"}


def status_view(watch: Watch, config_source: str) -> StatusView:
    """Sorts up to 100,000 consumers: runs off the event loop."""
    now = time.time()
    return StatusView(
        version=VERSION,
        now=now,
        interval_seconds=watch.settings.interval,
        config_source=config_source,
        systems=tuple(system_view(poller, now) for poller in watch.pollers),
    )


def system_view(poller: SystemPoller, now: float) -> SystemView:
    state, snapshot = poller.state, poller.state.snapshot
    known = snapshot if snapshot is not None and not poller.is_stale(now) else None
    consumers = known.consumers if known else ()
    rows = _worst(consumers)
    return SystemView(
        name=poller.system,
        source=_SOURCES[poller.source_name],
        targets=poller.targets,
        state=_state(poller, now),
        age_seconds=state.age(now),
        poll_seconds=state.poll_seconds,
        servers_answered=state.servers_answered or 0,
        servers_expected=state.servers_expected or 0,
        accounts=len(known.accounts) if known else 0,
        streams=len(known.streams) if known else 0,
        consumers=len(consumers),
        series=poller.served(now).series,
        questions=_questions(poller, now),
        servers=tuple(_server(server) for server in known.servers) if known else (),
        consumer_rows=tuple(_consumer(row) for row in rows),
        consumers_hidden=len(consumers) - len(rows),
        notes=_notes(poller),
    )


def _state(poller: SystemPoller, now: float) -> State:
    if poller.state.polls == 0 or (poller.state.last_answer is None and poller.state.polls < 2):
        return "waiting"
    if poller.is_stale(now):
        return "stale" if poller.state.last_answer is not None else "waiting"
    return "fresh" if poller.state.complete else "partial"


def _questions(poller: SystemPoller, now: float) -> tuple[QuestionView, ...]:
    return tuple(
        QuestionView(
            question=name,
            ok=record.outcome.ok,
            seconds=record.outcome.seconds,
            age_seconds=None if record.answered is None else max(0.0, now - record.answered),
            reason=record.outcome.reason,
            detail=record.outcome.detail,
        )
        for name, record in poller.state.questions.items()
    )


def _server(server: Server) -> ServerView:
    detail = server.health_detail if server.healthy is False else ""
    return ServerView(server.name, server.version, server.up, detail)


def _worst(consumers: tuple[Consumer, ...]) -> list[Consumer]:
    """Those without a leader first, for their backlog is not known; then by backlog."""
    return heapq.nlargest(
        MOST_ROWS, consumers, key=lambda row: (not row.up, row.num_pending + row.num_ack_pending)
    )


def _consumer(row: Consumer) -> ConsumerView:
    config = row.config
    push = config is not None and config.kind == "push"
    return ConsumerView(
        account=row.account,
        stream=row.stream,
        consumer=row.name,
        up=row.up,
        backlog=row.num_pending + row.num_ack_pending,
        num_pending=row.num_pending,
        num_ack_pending=row.num_ack_pending,
        max_ack_pending=config.max_ack_pending if config else None,
        num_redelivered=row.num_redelivered,
        num_waiting=None if push else row.num_waiting,
        ack_floor_gap=ack_floor_gap(row) if row.up else None,
        paused=row.paused,
        leader=row.leader,
    )


def _notes(poller: SystemPoller) -> tuple[str, ...]:
    notes = []
    rendered = poller.state.rendered
    if rendered.dropped:
        notes.append(f"{rendered.dropped:,} series beyond max_series are left out of /metrics.")
    if rendered.folded:
        notes.append(f"{rendered.folded:,} ephemeral consumers are summed into one row per stream.")
    notes += [
        f"{skipped.question} rests for a while: {skipped.reason}."
        for skipped in poller.state.skipped
    ]
    return tuple(notes)
