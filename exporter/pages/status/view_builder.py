"""Builds the view of the overview from the state of the pollers."""

from __future__ import annotations

from exporter.pages.reference.page import doc_links
from exporter.pages.status.audit_view import AuditView, audit_view
from exporter.pages.status.problems import Facts
from exporter.pages.status.system_problems import reload_row, system_rows
from exporter.pages.status.unwell import UnwellRow, unwell_assets
from exporter.pages.status.view import RequestView, State, StatusView, SystemView
from exporter.polling.loop import SystemPoller
from exporter.polling.state import SystemState
from exporter.polling.supervisor import Supervisor
from exporter.samples.owner_limits import ignored_assets
from streamgauge.serving.version import VERSION


def status_view(supervisor: Supervisor, config_source: str, now: float) -> StatusView:
    """Looks at up to 100,000 consumers: runs outside the event loop."""
    web = supervisor.settings.web
    return StatusView(
        version=VERSION,
        now=now,
        interval_seconds=supervisor.settings.interval,
        config_source=config_source,
        systems=tuple(system_view(poller, now, web.grafana_url) for poller in supervisor.pollers),
        docs=doc_links(),
        telemetry_path=web.telemetry_path,
        own=() if supervisor.reload_ok else (reload_row(),),
    )


def system_view(poller: SystemPoller, now: float, grafana: str = "") -> SystemView:
    state = poller.state  # read once: the next poll may end while this runs
    known = None if state.is_stale(now) else state.snapshot
    audit = audit_view(state.report) if state.report else None
    unwell, hidden = _unwell(poller, state, now, audit, grafana)
    return SystemView(
        name=poller.system,
        source=poller.source_name,
        targets=poller.targets,
        state=_state(state, now),
        age_seconds=state.age(now),
        poll_seconds=state.poll_seconds,
        servers_responding=state.servers_responding or 0,
        servers_expected=state.servers_expected or 0,
        accounts=len(known.accounts) if known else 0,
        streams=len(known.streams) if known else 0,
        consumers=len(known.consumers) if known else 0,
        series=state.served(now).series,
        requests=_requests(state, now),
        unwell=unwell,
        hidden=hidden,
        unjudged=_unjudged(state) if known else (),
        notes=_notes(state, now),
        audit=audit,
    )


def _unwell(
    poller: SystemPoller, state: SystemState, now: float, audit: AuditView | None, grafana: str
) -> tuple[tuple[UnwellRow, ...], int]:
    rows = [*system_rows(poller.system, poller.targets, state, now, audit, grafana)]
    if state.snapshot is None or state.is_stale(now):
        return tuple(rows), 0
    facts = Facts.of(state.signals, state.snapshot.servers, now)
    assets, found = unwell_assets(state.snapshot, facts, grafana)
    return (*rows, *assets), found - len(assets)


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


def _unjudged(state: SystemState) -> tuple[tuple[str, str, int], ...]:
    found = state.signals.unjudged.items()
    return tuple(sorted((word, reason, number) for (word, reason), number in found))


def _notes(state: SystemState, now: float) -> tuple[str, ...]:
    notes, served = [], state.served(now)
    if served.folded:
        notes.append(f"{served.folded:,} ephemeral consumers are summed into one row per stream.")
    if state.history_dropped:
        notes.append(
            f"{state.history_dropped:,} unwell assets have no charts: too many are unwell."
        )
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
