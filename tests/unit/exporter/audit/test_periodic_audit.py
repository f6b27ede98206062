"""The audit of a running system: schedule, comparison with earlier polls, carried findings."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace as changed
from support.exporter.models import NOW, consumer, consumer_config, server, snapshot, stream
from support.exporter.rendered_series import FULL

from exporter import catalog
from exporter.audit import periodic_audit
from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.periodic_audit import CARRIED_SECONDS, MIN_COMPARISON_SECONDS, AuditState
from exporter.audit.report import Report
from exporter.audit.severity import Severity
from exporter.model import Replica, Snapshot
from exporter.polling.pipeline import Pipeline, PollExtras
from exporter.polling.state import SystemState
from exporter.samples.render import Renderer


def check(find: Callable[[AuditContext], Iterator[Finding]]) -> Check:
    return Check(
        code="max-deliver-unlimited",
        severity=Severity.WARN,
        subject=Subject.CONSUMER,
        title="A title",
        meaning="A meaning.",
        condition="A condition.",
        why="A reason.",
        remedy="A remedy.",
        commands=(),
        find=find,
    )


def find_unlimited(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        if config.max_deliver is None:
            yield Finding(evidence="", account=row.account, stream=row.stream, consumer=row.name)
    for server_row in context.servers:
        if server_row.up and not server_row.jetstream:
            yield Finding(evidence="", server=server_row.name)
    for stream_row, settings in context.streams:
        if settings.no_ack:
            yield Finding(evidence="", account=stream_row.account, stream=stream_row.name)


def audit_state(*checks: Check) -> AuditState:
    return AuditState(interval=60.0, checks=checks or (check(find_unlimited),))


def poll(state: AuditState, current: Snapshot, seconds: float = 0.0) -> Report:
    moment = NOW + seconds
    made = state.update(AuditContext(snapshot=changed(current, taken=moment), now=moment))
    assert made is not None
    return made


def names(report: Report) -> list[str]:
    return [one.subject for one in report.findings]


FAILING = snapshot(stream(), consumer("worker"))
FIXED = snapshot(stream(), consumer("worker", config=consumer_config(max_deliver=5)))


def test_an_audit_runs_again_after_the_interval() -> None:
    state = audit_state()
    first = poll(state, FAILING)
    assert poll(state, FIXED, 59.0) is first
    assert names(poll(state, FIXED, 60.0)) == []


def test_a_clock_that_was_set_back_does_not_stop_the_audits() -> None:
    state = audit_state()
    first = poll(state, FAILING)
    assert poll(state, FAILING, -3600.0) is not first


def test_a_slow_audit_runs_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(context: AuditContext, *_: Any) -> Report:
        return Report("nats", context.now, seconds=6.0)

    monkeypatch.setattr(periodic_audit, "evaluate", slow)
    state = audit_state()
    first = poll(state, FAILING)
    assert poll(state, FAILING, 119.0) is first
    assert poll(state, FAILING, 120.0) is not first


def test_an_audit_compares_with_a_poll_minutes_earlier() -> None:
    seen: list[tuple[float, float | None]] = []

    def remember(context: AuditContext) -> Iterator[Finding]:
        seen.append((context.seconds, context.earlier.now - NOW if context.earlier else None))
        yield from ()

    state = audit_state(check(remember))
    for seconds in range(0, 1200, 60):
        poll(state, FAILING, float(seconds))
    assert seen[0] == (0.0, None)
    assert [compared for _, compared in seen[1:6]] == [0.0] * 5
    later = [apart for apart, _ in seen[6:]]
    assert all(MIN_COMPARISON_SECONDS <= apart <= 2 * MIN_COMPARISON_SECONDS for apart in later)


def test_an_earlier_poll_keeps_few_rows_and_no_earlier_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[AuditContext] = []

    def remember(context: AuditContext) -> Iterator[Finding]:
        if context.earlier is not None:
            kept.append(context.earlier)
        yield from ()

    state = audit_state(check(remember))
    poll(state, FAILING)
    poll(state, FAILING, 60.0)
    monkeypatch.setattr(periodic_audit, "MAX_EARLIER_CONSUMERS", 1)
    state = audit_state(check(remember))
    behind = consumer("behind", replicas=(Replica("n2", 7, False, 1.0),))
    many = snapshot(stream(), consumer("worker"), behind)
    poll(state, many)
    poll(state, many, 60.0)
    whole, slim = kept
    assert [row.name for row in whole.snapshot.consumers] == ["worker"]
    assert [row.name for row in slim.snapshot.consumers] == ["behind"]
    assert slim.snapshot.streams == many.streams
    assert whole.earlier is slim.earlier is None


DOWN = {"up": False, "reason": "no_leader"}


@pytest.mark.parametrize(
    "down",
    [
        snapshot(stream(), consumer("worker", **DOWN)),
        snapshot(stream(), consumer("worker", config=None)),
        snapshot(stream(), complete=False),
    ],
    ids=["no leader", "configuration unknown", "not listed in a partial response"],
)
def test_findings_of_a_consumer_that_is_down_stay_for_an_hour(
    down: Snapshot,
) -> None:
    state = audit_state()
    poll(state, FAILING)
    assert names(poll(state, down, 60.0)) == ["ORDERS > worker"]
    assert names(poll(state, down, 60.0 + CARRIED_SECONDS)) == ["ORDERS > worker"]
    assert names(poll(state, down, 121.0 + CARRIED_SECONDS)) == []


@pytest.mark.parametrize("later", [FIXED, snapshot(stream())], ids=["fixed", "deleted"])
def test_fixed_and_deleted_assets_have_no_findings(later: Snapshot) -> None:
    state = audit_state()
    poll(state, FAILING)
    assert names(poll(state, later, 60.0)) == []


def test_findings_of_a_server_that_is_down_stay() -> None:
    state = audit_state()
    assert names(poll(state, snapshot(server("n1")))) == ["server n1"]
    assert names(poll(state, snapshot(server("n1", up=False)), 60.0)) == ["server n1"]
    assert names(poll(state, snapshot(server("n1", jetstream=True)), 120.0)) == []


def test_every_audit_reads_the_history() -> None:
    given: list[object] = []

    def remember(context: AuditContext) -> Iterator[Finding]:
        given.append(context.history)
        yield from ()

    responses: list[Any] = [None, object()]
    state = AuditState(60.0, checks=(check(remember),), history=lambda: responses[len(given)])
    poll(state, FAILING)
    poll(state, FAILING, 60.0)
    assert given == responses


def test_broken_checks_are_counted_once_per_audit() -> None:
    def breaks(_: AuditContext) -> Iterator[Finding]:
        raise ZeroDivisionError

    audit = audit_state(check(breaks))
    state = SystemState(stale_after=45.0)
    state = state.audited(poll(audit, FAILING)).audited(audit.report)
    assert state.errors == {("audit", "internal"): 1}
    state = state.audited(poll(audit, FAILING, 60.0)).audited(None)
    assert state.errors == {("audit", "internal"): 2}
    assert state.report is audit.report


def test_the_pipeline_audits_each_snapshot() -> None:
    pipeline = Pipeline(Renderer("nats", FULL), audit=audit_state())
    made = pipeline.process(FAILING, PollExtras())
    assert made.report is not None
    assert names(made.report) == ["ORDERS > worker"]
    served = {block.metric for block in made.rendered.blocks}
    assert {catalog.STREAM_CONFIG_FINDINGS, catalog.CONSUMER_CONFIG_FINDING} <= served
    assert Pipeline(Renderer("nats", FULL)).process(FAILING, PollExtras()).report is None
