"""Builds the views of the status page from the state of the pollers."""

from __future__ import annotations

import heapq
import time

from exporter import catalog
from exporter.model import MALFORMED, Consumer, Server
from exporter.pages.reference.page import doc_links
from exporter.pages.status.audit_view import audit_view
from exporter.pages.status.conditions import NO_CONDITIONS, conditions_view
from exporter.pages.status.evidence import evidence
from exporter.pages.status.view import (
    ConsumerView,
    RequestView,
    ServerView,
    Source,
    State,
    StatusView,
    SystemView,
)
from exporter.polling.loop import SystemPoller
from exporter.polling.state import SystemState
from exporter.polling.supervisor import Supervisor
from exporter.samples.owner_limits import ignored_assets
from exporter.signals.results import Signals
from streamgauge.serving.version import VERSION

MAX_ROWS = 1000
_SOURCES: dict[str, Source] = {"account": "account", "system": "system", "monitor": "monitor"}


def status_view(supervisor: Supervisor, config_source: str) -> StatusView:
    """Sorts up to 100,000 consumers: runs outside the event loop."""
    now = time.time()
    return StatusView(
        version=VERSION,
        now=now,
        interval_seconds=supervisor.settings.interval,
        config_source=config_source,
        systems=tuple(system_view(poller, now) for poller in supervisor.pollers),
        docs=doc_links(),
        telemetry_path=supervisor.settings.web.telemetry_path,
    )


def system_view(poller: SystemPoller, now: float) -> SystemView:
    state = poller.state  # read once: the next poll may end while this runs
    known = None if state.is_stale(now) else state.snapshot
    consumers = known.consumers if known else ()
    rows = _worst(consumers)
    return SystemView(
        name=poller.system,
        source=_SOURCES[poller.source_name],
        targets=poller.targets,
        state=_state(state, now),
        age_seconds=state.age(now),
        poll_seconds=state.poll_seconds,
        servers_responding=state.servers_responding or 0,
        servers_expected=state.servers_expected or 0,
        accounts=len(known.accounts) if known else 0,
        streams=len(known.streams) if known else 0,
        consumers=len(consumers),
        series=state.served(now).series,
        requests=_requests(state, now),
        servers=tuple(map(_server, state.servers)),
        consumer_rows=tuple(consumer_view(row, state.signals, now) for row in rows),
        consumers_hidden=len(consumers) - len(rows),
        conditions=conditions_view(state.signals, now) if known else NO_CONDITIONS,
        notes=_notes(state, now),
        audit=audit_view(state.report) if state.report else None,
    )


def _state(state: SystemState, now: float) -> State:
    if state.last_response is None:
        return "waiting"
    if state.is_stale(now):
        return "stale"
    return "fresh" if state.complete else "partial"


def _requests(state: SystemState, now: float) -> tuple[RequestView, ...]:
    return tuple(
        RequestView(
            request=name,
            ok=record.outcome.ok,
            seconds=record.outcome.seconds,
            age_seconds=None if record.succeeded is None else max(0.0, now - record.succeeded),
            reason=record.outcome.reason,
            detail=record.outcome.detail,
        )
        for name, record in state.requests.items()
    )


def _server(server: Server) -> ServerView:
    detail = server.health_detail if server.healthy is False else ""
    return ServerView(server.name, server.version, server.up, detail)


def _worst(consumers: tuple[Consumer, ...]) -> list[Consumer]:
    """Consumers without a leader first: their backlog is unknown. Then by backlog."""
    return heapq.nlargest(
        MAX_ROWS, consumers, key=lambda row: (not row.up, row.num_pending + row.num_ack_pending)
    )


def consumer_view(row: Consumer, signals: Signals, now: float) -> ConsumerView:
    config = row.config
    result = signals.consumers.get((row.account, row.stream, row.name))
    verdict = result.verdict if result else None
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
        ack_floor_gap=result.ack_floor_gap if result else None,
        paused=row.paused,
        leader=row.leader,
        verdict="" if verdict is None else catalog.VERDICTS[verdict],
        since_seconds=max(0.0, now - result.verdict_since) if result else None,
        evidence=evidence(row, result) if result else "",
        malformed=row.reason == MALFORMED,
    )


def _notes(state: SystemState, now: float) -> tuple[str, ...]:
    notes, served = [], state.served(now)
    if served.dropped:
        notes.append(f"{served.dropped:,} series above max_series are dropped from /metrics.")
    if served.folded:
        notes.append(f"{served.folded:,} ephemeral consumers are summed into one row per stream.")
    ignored = ignored_assets(state.snapshot)
    notes += [
        f"Owners mute alerts or checks of {number:,} {asset}{'' if number == 1 else 's'} "
        "(io.streamgauge.ignore)."
        for asset, number in ignored.items()
        if number
    ]
    notes += [f"{each.request} is skipped: {each.reason}." for each in state.skipped]
    notes += [f"Events: {problem}." for problem in state.problems]
    faults = state.errors.get(("poll", "internal"), 0)
    if faults:
        notes.append(
            f"{faults:,} polls failed with an internal error of the exporter: see its log."
        )
    return tuple(notes)
