"""Rows about a system as a whole: what the exporter cannot read, the meta group, accounts, findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from alerts import thresholds
from exporter.audit.checks.interest_orphan import CHECK as INTEREST_ORPHAN
from exporter.audit.checks.meta_offline import CHECK as META_OFFLINE
from exporter.audit.facts.offline_peers import offline_servers
from exporter.model import AccountUsage, Snapshot
from exporter.pages.status import advice, links
from exporter.pages.status.audit_view import AuditView
from exporter.pages.status.unwell import UnwellRow
from exporter.pages.status.wording import count, listed, percent
from exporter.polling.state import SystemState
from exporter.signals.conditions.servers import servers_down
from exporter.signals.conditions.streams import NO_INTEREST
from exporter.signals.results import Signals


def system_rows(
    name: str,
    targets: tuple[str, ...],
    state: SystemState,
    now: float,
    audit: AuditView | None = None,
    grafana: str = "",
) -> Iterator[UnwellRow]:
    """`targets`: the addresses that are polled."""
    make = _Maker(name, grafana)
    found = [*_responses(make, targets, state, now), *_failed_requests(make, state, now)]
    covered: set[str] = set()
    if not state.is_stale(now) and state.snapshot is not None:
        down = set(servers_down(state.signals.server_conditions))
        found += _meta(make, state.snapshot, down)
        covered = _covered_checks(state.snapshot, down, state.signals)
        found += _accounts(make, state.snapshot)
        found += _dropped(make, state, now)
    if state.last_response is not None and not state.complete and not found:
        found.append(make.row("poll_incomplete"))
    yield from found
    if audit is not None:
        yield from _findings(make, audit, covered)


class _Maker:
    def __init__(self, system: str, grafana: str) -> None:
        self._system = system
        self._board = links.board(grafana, "system", system, ())

    def row(
        self,
        word: str,
        evidence: str = "",
        *,
        what: str = "",
        kind: str = "system",
        where: str = "",
        since: float | None = None,
    ) -> UnwellRow:
        given = advice.SYSTEM[word]
        return UnwellRow(
            given.level, kind, self._system, where, what or word.replace("_", " "), since, evidence,
            links.runbook(given.runbook), "", self._board,
        )  # fmt: skip


def reload_row() -> UnwellRow:
    given = advice.SYSTEM["reload_failed"]
    return UnwellRow(given.level, "system", "", "", "reload failed", None, given.means)


def _responses(
    make: _Maker, targets: tuple[str, ...], state: SystemState, now: float
) -> Iterator[UnwellRow]:
    if state.last_response is None:
        yield make.row("not_responded_yet", f"no response from {listed(targets)}")
    elif state.is_stale(now):
        evidence = "its series are absent from /metrics until it responds again"
        yield make.row("no_response", evidence, what="no usable response", since=state.age(now))


def _failed_requests(make: _Maker, state: SystemState, now: float) -> Iterator[UnwellRow]:
    """Those that failed for one reason share a row."""
    waiting = state.last_response is None
    failed: defaultdict[str, list[tuple[str, float | None]]] = defaultdict(list)
    for name, record in state.requests.items():
        outcome = record.outcome
        if not outcome.ok and (outcome.reason or not waiting):
            why = ": ".join(filter(None, (outcome.reason, outcome.detail))) or "no reason given"
            since = None if record.succeeded is None else max(0.0, now - record.succeeded)
            failed[why].append((name, since))
    for why, requests in failed.items():
        known = [since for _, since in requests if since is not None]
        names = listed([name for name, _ in requests])
        since = max(known) if known else None
        yield make.row("request_failed", why, what=f"{names} failed", since=since)
    expected, responding = state.servers_expected or 0, state.servers_responding or 0
    if expected > responding and not waiting and not any(not each.up for each in state.servers):
        missing = f"{expected - responding} of {count(expected, 'server')} did not respond"
        yield make.row("servers_missing", missing)


def _meta(make: _Maker, snapshot: Snapshot, down: set[str]) -> Iterator[UnwellRow]:
    members = [server for server in snapshot.servers if server.meta_leader is not None]
    if members and not any(server.meta_leader for server in members):
        yield make.row("no_meta_leader")
    if snapshot.meta is None:
        return
    offline = [each.server for each in snapshot.meta.replicas if each.offline]
    if offline := [server for server in offline if server not in down]:
        yield make.row("meta_peer_offline", listed(offline))
    pending = snapshot.meta.pending
    if pending is not None and pending > thresholds.META_PENDING.value:
        yield make.row("meta_pending_high", f"{pending:,} pending operations")


def _accounts(make: _Maker, snapshot: Snapshot) -> Iterator[UnwellRow]:
    for account in snapshot.accounts:
        for usage in account.usage:
            for limit, ratio in _used(usage):
                tier = f", tier {usage.tier}" if usage.tier else ""
                evidence = f"{percent(ratio)} of its {limit} limit used{tier}"
                if ratio >= thresholds.ACCOUNT_FULL_RATIO.value:
                    yield make.row("account_full", evidence, kind="account", where=account.name)
                elif ratio >= thresholds.ACCOUNT_HIGH_RATIO.value:
                    yield make.row("account_filling", evidence, kind="account", where=account.name)


def _used(usage: AccountUsage) -> Iterator[tuple[str, float]]:
    for name, used, limit in (
        ("storage", usage.storage_used, usage.storage_limit),
        ("memory", usage.memory_used, usage.memory_limit),
    ):
        if used is not None and limit:
            yield name, used / limit


def _dropped(make: _Maker, state: SystemState, now: float) -> Iterator[UnwellRow]:
    if dropped := state.served(now).dropped:
        yield make.row("series_dropped", f"{dropped:,} series above max_series")


def _covered_checks(snapshot: Snapshot, down: set[str], signals: Signals) -> set[str]:
    """Checks whose cause has a row already: of the meta group, a server that is down, a stream."""
    peers = snapshot.meta.replicas if snapshot.meta else ()
    named = down | {peer.server for peer in peers if peer.offline}
    covered = {META_OFFLINE.code} if named.issuperset(offline_servers(peers)) else set()
    if any(NO_INTEREST in dict(held) for held in signals.stream_conditions.values()):
        covered.add(INTEREST_ORPHAN.code)
    return covered


def _findings(make: _Maker, audit: AuditView, covered: set[str]) -> Iterator[UnwellRow]:
    """Only critical ones: the others are in the section of the audit."""
    for check in (each for each in audit.critical if each.code not in covered):
        names = [found.where for found in check.found if not found.muted_by]
        evidence = f"{check.title} ({listed(names)})"
        yield make.row("finding", evidence, what=check.code, kind="finding")
