"""Every check finds what it says, and nothing in the nearest configuration that is fine."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed
from support.audit.cases import (
    consumer_lifecycle,
    deliveries,
    exemptions,
    servers,
    stream_lifecycle,
    stream_size,
)
from support.audit.contexts import (
    Case,
    KnownHistory,
    bare_scene,
    cases_by_code,
    check_of,
    found_by,
    half_histories,
    looked_twice,
    of_consumer,
    scene,
    stream_of,
    unknown_by,
)
from support.exporter.models import consumer, consumer_config

from exporter.audit.check import Subject
from exporter.audit.context import AuditContext
from exporter.audit.registry import codes
from exporter.subscription_counts import SubscriptionCounts

CASES = (
    *deliveries.CASES,
    *consumer_lifecycle.CASES,
    *stream_lifecycle.CASES,
    *stream_size.CASES,
    *servers.CASES,
)
each_case = pytest.mark.parametrize(
    "case",
    CASES,
    ids=[f"{case.code}-{number}" for number, case in enumerate(CASES)],
)


def test_every_check_has_its_cases() -> None:
    assert set(cases_by_code(CASES)) == codes()


def test_there_are_as_many_checks_as_were_promised() -> None:
    assert len(codes()) >= 70


@each_case
def test_it_is_found_and_its_evidence_tells_the_numbers(case: Case) -> None:
    found = found_by(case.code, case.found)
    assert found
    assert case.evidence in found[0].evidence
    assert all("\n" not in one.evidence for one in found)


@each_case
def test_its_nearest_neighbour_is_not_found(case: Case) -> None:
    assert found_by(case.code, case.nearest) == []


@each_case
def test_a_finding_names_what_its_check_is_about(case: Case) -> None:
    for one in found_by(case.code, case.found):
        match check_of(case.code).subject:
            case Subject.CONSUMER:
                assert one.account
                assert one.stream
                assert one.consumer
            case Subject.STREAM:
                assert one.account
                assert one.stream
            case Subject.ACCOUNT:
                assert one.account
            case Subject.SERVER:
                assert one.server


@each_case
def test_of_what_is_not_known_nothing_is_found(case: Case) -> None:
    """Rows that did not answer, and rows whose configuration was not read yet."""
    rows = case.found.snapshot
    silent = replace(
        case.found,
        snapshot=type(rows)(
            system=rows.system,
            taken=rows.taken,
            streams=tuple(_unread(row) for row in rows.streams),
            consumers=tuple(_unread(row) for row in rows.consumers),
        ),
    )
    assert found_by(case.code, silent) == []


def _unread(row: Any) -> Any:
    return changed(row, up=False, config=None)


@pytest.mark.parametrize(("code", "seen"), exemptions.CASES)
def test_what_is_exempt_is_left_alone(code: str, seen: AuditContext) -> None:
    assert found_by(code, seen) == []


@pytest.mark.parametrize("code", sorted(codes()))
def test_no_check_stumbles_over_rows_of_which_hardly_anything_is_known(code: str) -> None:
    bare = bare_scene()
    for seen in (bare, looked_twice(bare, bare), looked_twice(scene(), bare)):
        list(check_of(code).find(seen))
    for history in (KnownHistory(), *half_histories()):
        list(check_of(code).find(replace(bare, history=history)))


@pytest.mark.parametrize("code", ["ack-wait-short", "recreate-hazard"])
def test_what_nobody_measured_is_told_as_unknown(code: str) -> None:
    (told,) = unknown_by(code, of_consumer())
    assert "rollups" in told.reason


def test_one_look_does_not_know_which_consumers_were_made_again() -> None:
    once = consumer_lifecycle.recreated(0)
    (told,) = unknown_by("recreate-hazard", once)
    assert "second look" in told.reason
    assert unknown_by("recreate-hazard", looked_twice(once, once)) == []
    assert unknown_by("recreate-hazard", replace(once, history=KnownHistory())) == []


def test_consumers_that_servers_and_libraries_make_are_left_alone() -> None:
    internal = consumer_config(internal=True)
    ordered = consumer_config(durable=False, ack_policy="none", memory_storage=True, kind="push")
    rows = (consumer("a", config=internal), consumer("b", config=ordered))
    seen = scene(stream_of(max_messages=5), *rows)
    twice = looked_twice(seen, seen)
    about = [code for code in codes() if check_of(code).subject is Subject.CONSUMER]
    assert len(about) > 30
    assert [one for code in about for one in found_by(code, twice)] == []


@pytest.mark.parametrize(
    ("offsets", "suspect"),
    [((2.0, 2.0), True), ((2.0,), False), ((2.0, -2.0), False), ((2.0, 2.0, 0.0), False)],
)
def test_our_own_clock_is_suspected_when_all_servers_are_off_alike(
    offsets: tuple[float, ...], suspect: bool
) -> None:
    for one in found_by("clock", servers.clocks(*offsets)):
        assert ("our own clock" in one.evidence) is suspect


def test_whether_subscribers_could_be_seen_is_said() -> None:
    unseen = of_consumer({"max_deliver": 5})
    counts = SubscriptionCounts({}, {}, {}, {}, frozenset({"APP"}))
    seen = replace(unseen, snapshot=changed(unseen.snapshot, subscriptions=counts))
    (told,), (known,) = found_by("no-dead-letter", unseen), found_by("no-dead-letter", seen)
    assert told.evidence.endswith("subscribers cannot be seen from here")
    assert known.evidence.endswith("nobody subscribes to it")


def test_several_consumers_near_the_end_of_retention_are_one_finding() -> None:
    rows = [consumer(name) for name in ("a", "b", "c")]
    seen = stream_lifecycle.of_stream(*rows, max_age_seconds=60.0, history={"worst_lag": 59.0})
    (one,) = found_by("retention-vs-lag", seen)
    assert one.evidence == "a was 59s behind, max_age is 1m (and 2 more consumers)"


def test_ephemeral_consumers_are_mended_where_they_are_made() -> None:
    (one,) = found_by("max-deliver-unlimited", of_consumer({"durable": False}))
    assert one.evidence.endswith("; ephemeral: its client sets this")
