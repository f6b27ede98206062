"""Judging a scene: findings, mutes, what is not known, and checks that break."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.audit.reports import ORDERS, WORKER, check, judged, muted_consumer, muted_stream, scene
from support.exporter.models import NOW, at, consumer, server, stream

from exporter.audit.check import Finding, Need, Severity, Unknown
from exporter.audit.context import AuditContext, AuditSettings, MessageSample
from exporter.audit.report import MutedBy, in_order
from exporter.signals.publishes.engine import PublishSignals, StreamPublishes


def test_the_gravest_come_first_and_then_by_code_and_name() -> None:
    found = judged(
        scene(),
        check("b-info", ORDERS, severity=Severity.INFO),
        check("b-crit", WORKER, ORDERS, severity=Severity.CRIT),
        check("a-crit", ORDERS, severity=Severity.CRIT),
    )
    told = [(one.check.code, one.finding.consumer) for one in found.told]
    assert told == [("a-crit", ""), ("b-crit", ""), ("b-crit", "worker"), ("b-info", "")]
    assert found.counts() == {Severity.CRIT: 3, Severity.WARN: 0, Severity.INFO: 1}
    assert in_order(reversed(found.told)) == found.told


@pytest.mark.parametrize("need", Need)
def test_a_check_whose_need_is_not_met_says_so_and_is_not_asked(need: Need) -> None:
    def never(_: AuditContext) -> Iterator[Finding]:
        raise AssertionError("asked all the same")

    found = judged(scene(), check(needs=frozenset({need}), find=never))
    assert found.told == ()
    assert [(one.subjects, one.broken) for one in found.not_done] == [(0, False)]
    assert found.not_done[0].reason.startswith("needs ")


PUBLISHED = PublishSignals({("APP", "ORDERS"): StreamPublishes(received=1)}, {})


@pytest.mark.parametrize(
    ("need", "looked"),
    [
        (Need.SERVERS, scene(server(start=at(NOW - 60)))),
        (Need.SUBSCRIPTIONS, scene(publishes=PUBLISHED)),
        (Need.SECOND_LOOK, scene(earlier=scene(), seconds=60.0)),
        (Need.HISTORY, scene(history=object())),
        (Need.MESSAGES, scene(messages={("APP", "ORDERS"): MessageSample(20, 20)})),
    ],
)
def test_a_check_whose_need_is_met_is_asked(need: Need, looked: AuditContext) -> None:
    found = judged(looked, check("a-check", ORDERS, needs=frozenset({need})))
    assert [one.finding for one in found.told] == [ORDERS]


def test_server_rows_of_the_account_source_are_not_what_servers_say_of_themselves() -> None:
    found = judged(scene(server(start=None)), check(needs=frozenset({Need.SERVERS})))
    assert [one.reason for one in found.not_done] == [
        "needs what servers say of themselves: the system or the monitor source"
    ]


def test_a_stream_whose_publishes_nobody_counted_meets_no_need() -> None:
    uncounted = PublishSignals({("APP", "ORDERS"): StreamPublishes()}, {})
    found = judged(scene(publishes=uncounted), check(needs=frozenset({Need.SUBSCRIPTIONS})))
    assert len(found.not_done) == 1


def test_all_needs_that_are_not_met_are_told() -> None:
    found = judged(scene(), check(needs=frozenset({Need.HISTORY, Need.SECOND_LOOK})))
    assert found.not_done[0].reason == (
        "needs a second look: --watch 60s; "
        "needs the rollups of an archive: --rollups PATH, or audit.rollups in the settings"
    )


@pytest.mark.parametrize(
    ("versions", "asked"),
    [(("2.11.0",), True), (("2.12.1", "2.10.26"), False), ((), True), (("",), True)],
)
def test_servers_too_old_to_tell_make_it_unknown(versions: tuple[str, ...], asked: bool) -> None:
    rows = [server(f"n{place}", version=version) for place, version in enumerate(versions)]
    found = judged(scene(*rows), check("a-check", ORDERS, since="2.11"))
    assert bool(found.told) is asked
    if not asked:
        assert found.not_done[0].reason == "needs servers since 2.11; the oldest here is 2.10.26"


def test_single_subjects_that_are_not_known_are_counted_by_reason() -> None:
    unknown = [Unknown(reason="no rate", stream=name) for name in ("A", "B")]
    found = judged(scene(), check("a-check", ORDERS, *unknown, Unknown(reason="no age")))
    assert [(one.reason, one.subjects) for one in found.not_done] == [("no rate", 2), ("no age", 1)]
    assert [one.finding for one in found.told] == [ORDERS]


def test_a_check_that_breaks_does_not_cost_the_others() -> None:
    def breaks(_: AuditContext) -> Iterator[Finding]:
        yield ORDERS
        raise ZeroDivisionError("by nothing")

    found = judged(scene(), check("broken", find=breaks), check("whole", ORDERS))
    assert [one.check.code for one in found.told] == ["whole"]
    assert [one.reason for one in found.broken()] == [
        "failed by a mistake of its own: ZeroDivisionError: by nothing"
    ]


@pytest.mark.parametrize(
    ("looked", "muted"),
    [
        (scene(stream(), consumer("worker")), (None, None)),
        (scene(muted_stream("a-check"), consumer("worker")), (MutedBy.STREAM, MutedBy.STREAM)),
        (scene(stream(), muted_consumer("a-check")), (None, MutedBy.CONSUMER)),
        (scene(muted_stream("another"), muted_consumer("another")), (None, None)),
        (
            scene(stream(), settings=AuditSettings(ignore=("a-check",))),
            (MutedBy.SETTINGS, MutedBy.SETTINGS),
        ),
    ],
    ids=["nobody", "the stream", "the consumer", "another check", "the configuration"],
)
def test_a_mute_is_shown_and_not_hidden(
    looked: AuditContext, muted: tuple[MutedBy | None, MutedBy | None]
) -> None:
    found = judged(looked, check("a-check", ORDERS, WORKER), known=frozenset({"another"}))
    assert tuple(one.muted for one in found.told) == muted
    assert len(found.active) == muted.count(None)
    assert found.muted == 2 - muted.count(None)
    assert found.strays == ()


def test_a_mute_of_a_stream_says_nothing_of_a_server() -> None:
    of_server = Finding(evidence="", server="n1")
    found = judged(scene(muted_stream("a-check")), check("a-check", of_server))
    assert [one.muted for one in found.told] == [None]


def test_a_mute_that_names_no_check_is_told() -> None:
    looked = scene(
        muted_stream("a-chekc"),
        muted_consumer("a-check", "old-name"),
        settings=AuditSettings(ignore=("gone",)),
    )
    found = judged(looked, check("a-check"))
    assert [(one.subject, one.code) for one in found.strays] == [
        ("ORDERS", "a-chekc"),
        ("ORDERS > worker", "old-name"),
        ("configuration", "gone"),
    ]


def test_findings_are_counted_by_stream_and_named_by_consumer() -> None:
    other = Finding(evidence="", account="APP", stream="ORDERS", consumer="other")
    looked = scene(stream(), muted_consumer("b-check"), consumer("other"))
    found = judged(looked, check("a-check", WORKER, other, ORDERS), check("b-check", WORKER, other))
    assert found.by_stream == {
        ("APP", "ORDERS"): {("a-check", Severity.WARN): 3, ("b-check", Severity.WARN): 1}
    }
    assert found.by_consumer == {
        ("APP", "ORDERS", "worker"): (("a-check", Severity.WARN),),
        ("APP", "ORDERS", "other"): (("a-check", Severity.WARN), ("b-check", Severity.WARN)),
    }


def test_the_same_finding_has_the_same_key_whatever_its_numbers() -> None:
    again = Finding(evidence="4 of 5", account="APP", stream="ORDERS", consumer="worker")
    first, second = (judged(scene(), check("a-check", one)).told[0] for one in (WORKER, again))
    assert first.key == second.key
    assert replace(judged(scene()), seconds=1.0) == replace(judged(scene()), seconds=2.0)
