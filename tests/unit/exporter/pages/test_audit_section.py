"""The audit on the overview: evidence, remedy and mutes, escaped, and never too long."""

from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from support.audit.reports import ORDERS, WORKER, audit_context, check, evaluated, muted_consumer
from support.exporter.models import NOW, server, stream
from support.exporter.status_views import HEALTHY, HOSTILE, page_of, polled, site

from exporter.audit.check import Finding, Need
from exporter.audit.checks.interest_orphan import CHECK as INTEREST_ORPHAN
from exporter.audit.checks.meta_offline import CHECK as META_OFFLINE
from exporter.audit.context import AuditContext
from exporter.audit.evaluation import evaluate
from exporter.audit.report import Report
from exporter.audit.severity import Severity
from exporter.model import MetaGroup, Replica
from exporter.pages.status.audit_view import MAX_PER_CHECK, AuditView, audit_view
from exporter.pages.status.level import Level
from exporter.pages.status.unwell import UnwellRow
from exporter.signals.events_input import StreamKey
from exporter.signals.results import Held, Signals

STARTED = datetime.fromtimestamp(NOW - 60, UTC)
COMMANDS = ("nats consumer edit STREAM CONSUMER --max-deliver 5",)


class Words(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def words(view: AuditView) -> str:
    return " ".join("".join(Words(page_of(replace(HEALTHY, audit=view))).text).split())


def unwell(report: Report) -> tuple[UnwellRow, ...]:
    poller = polled()
    poller.state = replace(poller.state, report=report)
    return site(poller).view().rows


def report(severity: Severity = Severity.WARN) -> Report:
    made = replace(check("a-check", WORKER, ORDERS, severity=severity), commands=COMMANDS)
    lacking = check("a-history", needs=frozenset({Need.HISTORY}))
    return evaluated(audit_context(muted_consumer("a-check", "a-typo")), made, lacking)


def test_a_finding_shows_its_evidence_and_what_to_do() -> None:
    text = words(audit_view(report()))
    assert "Audit 0 crit, 1 warn, 0 info, 1 muted; 2 checks, 1 not evaluated" in text
    assert "warn a-check A title (1, 1 muted)" in text
    assert "ORDERS 1 of 2" in text
    assert "ORDERS > worker 3 of 5 muted by consumer metadata" in text
    assert "A reason.A remedy. nats consumer edit ORDERS CONSUMER --max-deliver 5" in text


def test_what_was_not_judged_is_reported_with_the_reason() -> None:
    text = words(audit_view(report()))
    assert "needs the rollups of an archive: --rollups PATH, or audit.rollups" in text
    assert "in the settings: a-history" in text
    assert "ignored code that matches no check: a-typo (ORDERS > worker)" in text


def test_each_check_links_to_its_description() -> None:
    assert 'href="docs/checks#a-check"' in page_of(replace(HEALTHY, audit=audit_view(report())))


@pytest.mark.parametrize(
    ("severity", "reported"),
    [(Severity.CRIT, True), (Severity.WARN, False), (Severity.INFO, False)],
)
def test_only_what_is_grave_is_a_trouble_of_the_system(severity: Severity, reported: bool) -> None:
    found = unwell(report(severity))
    assert bool(found) is reported
    if reported:
        assert (found[0].level, found[0].kind, found[0].what) == (
            Level.WARNING,
            "finding",
            "a-check",
        )
        assert found[0].evidence == "A title (ORDERS)"
        assert found[0].runbook == "docs/runbooks/JetStreamConfigFinding"


def test_what_is_muted_is_no_trouble() -> None:
    made = check("a-check", WORKER, severity=Severity.CRIT)
    assert unwell(evaluated(audit_context(muted_consumer("a-check")), made)) == ()


def offline_peer(*, offline: bool, silent: float = 5.0) -> MetaGroup:
    return MetaGroup("n1", size=3, replicas=(Replica("n2", 0, offline, silent),))


@pytest.mark.parametrize(
    ("meta", "conditions", "rows"),
    [
        (offline_peer(offline=True), {}, ["meta peer offline"]),
        (offline_peer(offline=True), {"n2": (("down", NOW - 60),)}, ["down"]),
        (offline_peer(offline=False, silent=90.0), {"n2": (("down", NOW - 60),)}, ["down"]),
        # Silent and not yet reported as offline: the audit alone names it.
        (offline_peer(offline=False, silent=90.0), {}, ["meta-offline"]),
    ],
)
def test_an_offline_member_of_the_meta_group_is_one_row(
    meta: MetaGroup, conditions: dict[str, Held], rows: list[str]
) -> None:
    servers = (
        server("n1", meta_leader=True, start=STARTED),
        server("n2", up="n2" not in conditions),
    )
    poller = polled(*servers, meta=meta, signals=Signals(server_conditions=conditions))
    assert poller.state.snapshot is not None
    found = evaluate(
        AuditContext(snapshot=poller.state.snapshot, now=NOW),
        [META_OFFLINE],
        frozenset({"meta-offline"}),
    )
    assert [one.check.code for one in found.findings] == ["meta-offline"]
    poller.state = replace(poller.state, report=found)
    assert [row.what for row in site(poller).view().rows] == rows


@pytest.mark.parametrize("held", [True, False])
def test_a_stream_that_keeps_nothing_is_one_row(held: bool) -> None:
    conditions: dict[StreamKey, Held] = {("APP", "ORDERS"): (("no_interest", NOW - 60),)}
    made = check(INTEREST_ORPHAN.code, WORKER, severity=Severity.CRIT)
    signals = Signals(stream_conditions=conditions if held else {})
    poller = polled(server(start=STARTED), stream(consumers=0), signals=signals)
    poller.state = replace(poller.state, report=evaluated(audit_context(), made))
    expected = "no interest" if held else INTEREST_ORPHAN.code
    assert [row.what for row in site(poller).view().rows] == [expected]


def test_many_findings_of_one_check_are_counted() -> None:
    many = [Finding(evidence="", stream=f"S{number:03d}") for number in range(MAX_PER_CHECK + 7)]
    (shown,) = audit_view(evaluated(audit_context(), check("a-check", *many))).checks
    assert (len(shown.found), shown.more, shown.active) == (MAX_PER_CHECK, 7, MAX_PER_CHECK + 7)
    assert "and 7 more" in words(audit_view(evaluated(audit_context(), check("a-check", *many))))


def test_nothing_that_a_name_or_an_error_holds_becomes_markup() -> None:
    hostile = Finding(evidence=HOSTILE + " nats://user:secret@host", stream=HOSTILE)
    page = page_of(
        replace(HEALTHY, audit=audit_view(evaluated(audit_context(), check("a-check", hostile))))
    )
    assert "<img" not in page
    assert page.count("<script>") == 1
    assert "secret" not in page


def test_without_an_audit_there_is_no_section() -> None:
    assert "Audit" not in page_of(HEALTHY)
    assert "No findings." in words(audit_view(evaluated(audit_context(), check("a-check"))))
