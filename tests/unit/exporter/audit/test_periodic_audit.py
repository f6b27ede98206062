"""The audit of a running system: when it is made, what it compares with, what it carries over."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace as changed
from support.exporter.models import NOW, consumer, consumer_config, server, snapshot, stream
from support.exporter.rendered_series import FULL

from exporter import catalog
from exporter.audit import periodic_audit as book_module
from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.periodic_audit import CARRIED_SECONDS, SECOND_LOOK_SECONDS, AuditState
from exporter.audit.report import Report
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


def find_unlimited(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if config.max_deliver is None:
            yield Finding(evidence="", account=row.account, stream=row.stream, consumer=row.name)
    for server_row in scene.servers:
        if server_row.up and not server_row.jetstream:
            yield Finding(evidence="", server=server_row.name)
    for stream_row, settings in scene.streams:
        if settings.no_ack:
            yield Finding(evidence="", account=stream_row.account, stream=stream_row.name)


def looking(*checks: Check) -> AuditState:
    return AuditState(interval=60.0, checks=checks or (check(find_unlimited),))


def look(book: AuditState, seen: Snapshot, seconds: float = 0.0) -> Report:
    moment = NOW + seconds
    made = book.look(AuditContext(snapshot=changed(seen, taken=moment), now=moment))
    assert made is not None
    return made


def names(report: Report) -> list[str]:
    return [one.subject for one in report.told]


FAILING = snapshot(stream(), consumer("worker"))
MENDED = snapshot(stream(), consumer("worker", config=consumer_config(max_deliver=5)))


def test_an_audit_is_made_anew_when_its_time_has_come() -> None:
    book = looking()
    first = look(book, FAILING)
    assert look(book, MENDED, 59.0) is first
    assert names(look(book, MENDED, 60.0)) == []


def test_a_clock_that_was_set_back_does_not_stop_the_audits() -> None:
    book = looking()
    first = look(book, FAILING)
    assert look(book, FAILING, -3600.0) is not first


def test_an_audit_that_takes_long_is_made_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(scene: AuditContext, *_: Any) -> Report:
        return Report("nats", scene.now, seconds=6.0)

    monkeypatch.setattr(book_module, "judge", slow)
    book = looking()
    first = look(book, FAILING)
    assert look(book, FAILING, 119.0) is first
    assert look(book, FAILING, 120.0) is not first


def test_each_look_is_compared_with_one_that_is_minutes_older() -> None:
    seen: list[tuple[float, float | None]] = []

    def remember(scene: AuditContext) -> Iterator[Finding]:
        seen.append((scene.seconds, scene.earlier.now - NOW if scene.earlier else None))
        yield from ()

    book = looking(check(remember))
    for seconds in range(0, 1200, 60):
        look(book, FAILING, float(seconds))
    assert seen[0] == (0.0, None)
    assert [compared for _, compared in seen[1:6]] == [0.0] * 5
    later = [apart for apart, _ in seen[6:]]
    assert all(SECOND_LOOK_SECONDS <= apart <= 2 * SECOND_LOOK_SECONDS for apart in later)


def test_an_earlier_look_holds_neither_a_still_earlier_one_nor_too_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[AuditContext] = []

    def remember(scene: AuditContext) -> Iterator[Finding]:
        if scene.earlier is not None:
            kept.append(scene.earlier)
        yield from ()

    book = looking(check(remember))
    look(book, FAILING)
    look(book, FAILING, 60.0)
    monkeypatch.setattr(book_module, "MOST_EARLIER_CONSUMERS", 1)
    book = looking(check(remember))
    behind = consumer("behind", replicas=(Replica("n2", 7, False, 1.0),))
    many = snapshot(stream(), consumer("worker"), behind)
    look(book, many)
    look(book, many, 60.0)
    whole, slim = kept
    assert [row.name for row in whole.snapshot.consumers] == ["worker"]
    assert [row.name for row in slim.snapshot.consumers] == ["behind"]
    assert slim.snapshot.streams == many.streams
    assert whole.earlier is slim.earlier is None


DOWN = {"up": False, "reason": "no_leader"}


@pytest.mark.parametrize(
    "silent",
    [
        snapshot(stream(), consumer("worker", **DOWN)),
        snapshot(stream(), consumer("worker", config=None)),
        snapshot(stream(), complete=False),
    ],
    ids=["no leader", "configuration unknown", "not listed in a partial answer"],
)
def test_what_was_found_of_a_consumer_that_does_not_answer_stays_for_an_hour(
    silent: Snapshot,
) -> None:
    book = looking()
    look(book, FAILING)
    assert names(look(book, silent, 60.0)) == ["ORDERS > worker"]
    assert names(look(book, silent, 60.0 + CARRIED_SECONDS)) == ["ORDERS > worker"]
    assert names(look(book, silent, 121.0 + CARRIED_SECONDS)) == []


@pytest.mark.parametrize(
    "later", [MENDED, snapshot(stream())], ids=["mended", "deleted, in a whole answer"]
)
def test_what_is_mended_or_gone_does_not_stay(later: Snapshot) -> None:
    book = looking()
    look(book, FAILING)
    assert names(look(book, later, 60.0)) == []


def test_what_was_found_of_a_server_that_is_down_stays() -> None:
    book = looking()
    assert names(look(book, snapshot(server("n1")))) == ["server n1"]
    assert names(look(book, snapshot(server("n1", up=False)), 60.0)) == ["server n1"]
    assert names(look(book, snapshot(server("n1", jetstream=True)), 120.0)) == []


def test_history_is_asked_for_at_each_audit() -> None:
    given: list[object] = []

    def remember(scene: AuditContext) -> Iterator[Finding]:
        given.append(scene.history)
        yield from ()

    responses: list[Any] = [None, object()]
    book = AuditState(60.0, checks=(check(remember),), history=lambda: responses[len(given)])
    look(book, FAILING)
    look(book, FAILING, 60.0)
    assert given == responses


def test_checks_that_broke_are_counted_once_for_each_audit() -> None:
    def breaks(_: AuditContext) -> Iterator[Finding]:
        raise ZeroDivisionError

    book = looking(check(breaks))
    state = SystemState(stale_after=45.0)
    state = state.audited(look(book, FAILING)).audited(book.report)
    assert state.errors == {("audit", "internal"): 1}
    state = state.audited(look(book, FAILING, 60.0)).audited(None)
    assert state.errors == {("audit", "internal"): 2}
    assert state.report is book.report


def test_a_digest_audits_what_it_serves() -> None:
    pipeline = Pipeline(Renderer("nats", FULL), audit=looking())
    made = pipeline.process(FAILING, PollExtras())
    assert made.report is not None
    assert names(made.report) == ["ORDERS > worker"]
    served = {block.metric for block in made.rendered.blocks}
    assert {catalog.STREAM_CONFIG_FINDINGS, catalog.CONSUMER_CONFIG_FINDING} <= served
    assert Pipeline(Renderer("nats", FULL)).process(FAILING, PollExtras()).report is None
