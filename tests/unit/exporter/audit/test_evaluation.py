"""Evaluating checks: findings, suppressions, unmet needs, unknown data and broken checks."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.audit.reports import (
    ORDERS,
    WORKER,
    audit_context,
    check,
    evaluated,
    muted_consumer,
    muted_stream,
)
from support.exporter.models import NOW, at, consumer, server, stream

from exporter.audit.check import Finding, Need, Unknown
from exporter.audit.context import AuditContext, AuditSettings, MessageSample
from exporter.audit.report import MutedBy, in_order
from exporter.audit.severity import Severity
from exporter.signals.publishes.engine import PublishSignals, StreamPublishes


def test_findings_are_sorted_by_severity_code_and_name() -> None:
    found = evaluated(
        audit_context(),
        check("b-info", ORDERS, severity=Severity.INFO),
        check("b-crit", WORKER, ORDERS, severity=Severity.CRIT),
        check("a-crit", ORDERS, severity=Severity.CRIT),
    )
    order = [(one.check.code, one.finding.consumer) for one in found.findings]
    assert order == [("a-crit", ""), ("b-crit", ""), ("b-crit", "worker"), ("b-info", "")]
    assert found.counts() == {Severity.CRIT: 3, Severity.WARN: 0, Severity.INFO: 1}
    assert in_order(reversed(found.findings)) == found.findings


@pytest.mark.parametrize("need", Need)
def test_a_check_with_an_unmet_need_is_not_evaluated(need: Need) -> None:
    def never(_: AuditContext) -> Iterator[Finding]:
        raise AssertionError("the check was evaluated")

    found = evaluated(audit_context(), check(needs=frozenset({need}), find=never))
    assert found.findings == ()
    assert [(one.subjects, one.broken) for one in found.not_evaluated] == [(0, False)]
    assert found.not_evaluated[0].reason.startswith("needs ")


PUBLISHED = PublishSignals({("APP", "ORDERS"): StreamPublishes(received=1)}, {})


@pytest.mark.parametrize(
    ("need", "polled"),
    [
        (Need.SERVERS, audit_context(server(start=at(NOW - 60)))),
        (Need.SUBSCRIPTIONS, audit_context(publishes=PUBLISHED)),
        (Need.SECOND_POLL, audit_context(earlier=audit_context(), seconds=60.0)),
        (Need.HISTORY, audit_context(history=object())),
        (Need.MESSAGES, audit_context(messages={("APP", "ORDERS"): MessageSample(20, 20)})),
    ],
)
def test_a_check_whose_need_is_met_is_evaluated(need: Need, polled: AuditContext) -> None:
    found = evaluated(polled, check("a-check", ORDERS, needs=frozenset({need})))
    assert [one.finding for one in found.findings] == [ORDERS]


def test_server_rows_of_the_account_source_do_not_meet_the_need() -> None:
    found = evaluated(audit_context(server(start=None)), check(needs=frozenset({Need.SERVERS})))
    assert [one.reason for one in found.not_evaluated] == [
        "needs data from the servers: use the system or the monitor source"
    ]


def test_a_stream_without_publish_counts_meets_no_need() -> None:
    uncounted = PublishSignals({("APP", "ORDERS"): StreamPublishes()}, {})
    found = evaluated(
        audit_context(publishes=uncounted), check(needs=frozenset({Need.SUBSCRIPTIONS}))
    )
    assert len(found.not_evaluated) == 1


def test_all_unmet_needs_are_reported() -> None:
    found = evaluated(audit_context(), check(needs=frozenset({Need.HISTORY, Need.SECOND_POLL})))
    assert found.not_evaluated[0].reason == (
        "needs a second poll: --watch 60s; "
        "needs the rollups of an archive: --rollups PATH, or audit.rollups in the settings"
    )


@pytest.mark.parametrize(
    ("versions", "evaluated_here"),
    [(("2.11.0",), True), (("2.12.1", "2.10.26"), False), ((), True), (("",), True)],
)
def test_checks_for_newer_servers_are_not_evaluated(
    versions: tuple[str, ...], evaluated_here: bool
) -> None:
    rows = [server(f"n{place}", version=version) for place, version in enumerate(versions)]
    found = evaluated(audit_context(*rows), check("a-check", ORDERS, since="2.11"))
    assert bool(found.findings) is evaluated_here
    if not evaluated_here:
        assert (
            found.not_evaluated[0].reason
            == "needs servers since 2.11; the oldest server is 2.10.26"
        )


def test_single_subjects_that_are_not_known_are_counted_by_reason() -> None:
    unknown = [Unknown(reason="no rate", stream=name) for name in ("A", "B")]
    found = evaluated(audit_context(), check("a-check", ORDERS, *unknown, Unknown(reason="no age")))
    assert [(one.reason, one.subjects) for one in found.not_evaluated] == [
        ("no rate", 2),
        ("no age", 1),
    ]
    assert [one.finding for one in found.findings] == [ORDERS]


def test_a_check_that_breaks_does_not_cost_the_others() -> None:
    def breaks(_: AuditContext) -> Iterator[Finding]:
        yield ORDERS
        raise ZeroDivisionError("by nothing")

    found = evaluated(audit_context(), check("broken", find=breaks), check("whole", ORDERS))
    assert [one.check.code for one in found.findings] == ["whole"]
    assert [one.reason for one in found.broken()] == [
        "internal error: ZeroDivisionError: by nothing"
    ]


@pytest.mark.parametrize(
    ("polled", "muted"),
    [
        (audit_context(stream(), consumer("worker")), (None, None)),
        (
            audit_context(muted_stream("a-check"), consumer("worker")),
            (MutedBy.STREAM, MutedBy.STREAM),
        ),
        (audit_context(stream(), muted_consumer("a-check")), (None, MutedBy.CONSUMER)),
        (audit_context(muted_stream("another"), muted_consumer("another")), (None, None)),
        (audit_context(stream(), muted_consumer("all")), (None, MutedBy.CONSUMER)),
        (audit_context(muted_stream("JetStreamStreamFull"), consumer("worker")), (None, None)),
        (
            audit_context(stream(), settings=AuditSettings(ignore=("a-check",))),
            (MutedBy.SETTINGS, MutedBy.SETTINGS),
        ),
    ],
    ids=[
        "not muted",
        "the stream",
        "the consumer",
        "another check",
        "all",
        "an alert",
        "the configuration",
    ],
)
def test_muted_findings_stay_in_the_report(
    polled: AuditContext, muted: tuple[MutedBy | None, MutedBy | None]
) -> None:
    found = evaluated(polled, check("a-check", ORDERS, WORKER), known=frozenset({"another"}))
    assert tuple(one.muted for one in found.findings) == muted
    assert len(found.active) == muted.count(None)
    assert found.muted == 2 - muted.count(None)
    assert found.unknown_ignores == ()


def test_ignored_codes_of_a_stream_do_not_mute_servers() -> None:
    of_server = Finding(evidence="", server="n1")
    found = evaluated(audit_context(muted_stream("a-check")), check("a-check", of_server))
    assert [one.muted for one in found.findings] == [None]


def test_an_ignored_code_that_matches_no_check_is_reported() -> None:
    polled = audit_context(
        muted_stream("a-chekc"),
        muted_consumer("a-check", "old-name"),
        settings=AuditSettings(ignore=("gone",)),
    )
    found = evaluated(polled, check("a-check"))
    assert [(one.subject, one.code) for one in found.unknown_ignores] == [
        ("ORDERS", "a-chekc"),
        ("ORDERS > worker", "old-name"),
        ("configuration", "gone"),
    ]


def test_findings_are_counted_by_stream_and_named_by_consumer() -> None:
    other = Finding(evidence="", account="APP", stream="ORDERS", consumer="other")
    polled = audit_context(stream(), muted_consumer("b-check"), consumer("other"))
    found = evaluated(
        polled, check("a-check", WORKER, other, ORDERS), check("b-check", WORKER, other)
    )
    assert found.by_stream == {
        ("APP", "ORDERS"): {("a-check", Severity.WARN): 3, ("b-check", Severity.WARN): 1}
    }
    assert found.by_consumer == {
        ("APP", "ORDERS", "worker"): (("a-check", Severity.WARN),),
        ("APP", "ORDERS", "other"): (("a-check", Severity.WARN), ("b-check", Severity.WARN)),
    }


def test_the_same_finding_has_the_same_key_whatever_its_numbers() -> None:
    again = Finding(evidence="4 of 5", account="APP", stream="ORDERS", consumer="worker")
    first, second = (
        evaluated(audit_context(), check("a-check", one)).findings[0] for one in (WORKER, again)
    )
    assert first.key == second.key
    assert replace(evaluated(audit_context()), seconds=1.0) == replace(
        evaluated(audit_context()), seconds=2.0
    )
