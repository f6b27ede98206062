"""Every check finds its violation, and nothing in a configuration that just meets its condition."""

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
    audit_context,
    cases_by_code,
    check_of,
    consumer_context,
    found_by,
    half_histories,
    minimal_context,
    polled_twice,
    stream_row,
    unknown_by,
)
from support.audit.rules import assert_rule, check_file, error_of, findings_unless_broken
from support.collected import over_all
from support.exporter.models import consumer, consumer_config, server

from exporter.audit.check import Finding, Subject
from exporter.audit.context import AuditContext, MessageSample
from exporter.audit.registry import codes
from exporter.audit.severity import Severity
from exporter.model import OwnerNotes
from exporter.signals.conditions.words import Condition
from exporter.signals.results import ConsumerSignals, Signals
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


def check_file_of(case: Case) -> str:
    return check_file(case.code)


def test_every_check_has_its_cases() -> None:
    assert set(cases_by_code(CASES)) == codes()


@each_case
def test_a_violation_is_found_with_evidence(case: Case) -> None:
    found = found_by(case.code, case.found)
    assert found
    assert case.evidence in found[0].evidence
    assert all("\n" not in one.evidence for one in found)


@each_case
def test_a_near_miss_is_not_found(case: Case) -> None:
    assert found_by(case.code, case.nearest) == []


@over_all(CASES, "a finding does not name the asset of its check; edit:", check_file_of)
def test_every_finding_names_its_subject(case: Case) -> None:
    for one in findings_unless_broken(case.code, case.found):
        assert _names_subject(one, check_of(case.code).subject)


def _names_subject(finding: Finding, subject: Subject) -> bool:
    match subject:
        case Subject.CONSUMER:
            return bool(finding.account and finding.stream and finding.consumer)
        case Subject.STREAM:
            return bool(finding.account and finding.stream)
        case Subject.ACCOUNT:
            return bool(finding.account)
        case Subject.SERVER:
            return bool(finding.server)
    return True


@over_all(CASES, "rows that are down without configuration have a finding; edit:", check_file_of)
def test_rows_that_are_down_or_unknown_have_no_findings(case: Case) -> None:
    assert findings_unless_broken(case.code, _all_down(case.found)) == []


def _all_down(context: AuditContext) -> AuditContext:
    rows = context.snapshot
    return replace(
        context,
        snapshot=type(rows)(
            system=rows.system,
            taken=rows.taken,
            streams=tuple(_down(row) for row in rows.streams),
            consumers=tuple(_down(row) for row in rows.consumers),
        ),
    )


def _down(row: Any) -> Any:
    return changed(row, up=False, config=None)


@pytest.mark.parametrize(("code", "seen"), exemptions.CASES)
def test_exempt_assets_have_no_findings(code: str, seen: AuditContext) -> None:
    assert found_by(code, seen) == []


def test_no_check_raises_for_missing_data() -> None:
    minimal = _minimal_contexts()
    contexts = [
        *((code, context) for code in codes() for context in minimal),
        *((case.code, _all_down(case.found)) for case in CASES),
    ]
    assert_rule(
        "a check raises an exception for rows with minimal data or rows that are down",
        (
            f"{check_file(code)}: {error!r}"
            for code, context in contexts
            if (error := error_of(code, context)) is not None
        ),
    )


def _minimal_contexts() -> list[AuditContext]:
    minimal = minimal_context()
    return [
        minimal,
        polled_twice(minimal, minimal),
        polled_twice(audit_context(), minimal),
        *(replace(minimal, history=one) for one in (KnownHistory(), *half_histories())),
    ]


@pytest.mark.parametrize("code", ["ack-wait-short", "recreate-hazard"])
def test_missing_measurements_are_reported_as_unknown(code: str) -> None:
    (unknown,) = unknown_by(code, consumer_context())
    assert "rollups" in unknown.reason


def test_a_single_poll_does_not_know_recreated_consumers() -> None:
    once = consumer_lifecycle.recreated(0)
    (unknown,) = unknown_by("recreate-hazard", once)
    assert "second poll" in unknown.reason
    assert unknown_by("recreate-hazard", polled_twice(once, once)) == []
    assert unknown_by("recreate-hazard", replace(once, history=KnownHistory())) == []


def test_internal_and_ordered_consumers_have_no_findings() -> None:
    internal = consumer_config(internal=True)
    ordered = consumer_config(durable=False, ack_policy="none", memory_storage=True, kind="push")
    rows = (consumer("a", config=internal), consumer("b", config=ordered))
    seen = audit_context(stream_row(max_messages=5), *rows)
    twice = polled_twice(seen, seen)
    about = [code for code in codes() if check_of(code).subject is Subject.CONSUMER]
    assert about
    assert [one for code in about for one in found_by(code, twice)] == []


@pytest.mark.parametrize(
    ("offsets", "suspect"),
    [((2.0, 2.0), True), ((2.0,), False), ((2.0, -2.0), False), ((2.0, 2.0, 0.0), False)],
)
def test_the_local_clock_is_suspected_if_all_servers_are_off(
    offsets: tuple[float, ...], suspect: bool
) -> None:
    for one in found_by("clock", servers.clocks(*offsets)):
        assert ("local clock" in one.evidence) is suspect


def test_evidence_says_whether_subscribers_are_known() -> None:
    unseen = consumer_context({"max_deliver": 5})
    counts = SubscriptionCounts({}, {}, {}, {}, frozenset({"APP"}))
    seen = replace(unseen, snapshot=changed(unseen.snapshot, subscriptions=counts))
    (unknown,), (known,) = found_by("no-dead-letter", unseen), found_by("no-dead-letter", seen)
    assert unknown.evidence.endswith("subscribers are not known")
    assert known.evidence.endswith("no subscriber")


def test_several_consumers_near_the_end_of_retention_are_one_finding() -> None:
    rows = [consumer(name) for name in ("a", "b", "c")]
    seen = stream_lifecycle.stream_context(*rows, max_age_seconds=60.0, history={"worst_lag": 59.0})
    (one,) = found_by("retention-vs-lag", seen)
    assert one.evidence == "a was 59s behind, max_age 1m (and 2 more consumers)"


def test_ephemeral_consumers_are_not_audited_one_by_one() -> None:
    assert not found_by("max-deliver-unlimited", consumer_context({"durable": False}))
    rows = [
        consumer(name, config=consumer_config(durable=False, inactive_threshold_seconds=seconds))
        for name, seconds in (("a", 1e5), ("b", 2e5), ("c", 60.0))
    ]
    (one,) = found_by("ephemeral-lingers", stream_lifecycle.stream_context(*rows))
    assert one.consumer == ""
    assert one.evidence == ("2 ephemeral consumers, the longest inactive_threshold is 2d7h, of b")


DEDUPE_MEANT: list[dict[str, Any]] = [
    {"duplicate_window_seconds": 60.0},
    {"duplicate_window_seconds": 120.0, "sample": {("APP", "ORDERS"): MessageSample(20, 1)}},
    {"duplicate_window_seconds": 120.0, "history": {"duplicates": 1.0}},
    {"duplicate_window_seconds": 120.0, "notes": OwnerNotes(idempotent_writers=True)},
    {"duplicate_window_seconds": 120.0, "notes": OwnerNotes(publish_retry_horizon=60.0)},
]
DEDUPE_NOT_MEANT: list[dict[str, Any]] = [
    {"duplicate_window_seconds": 120.0},
    {"duplicate_window_seconds": 30.0, "max_age_seconds": 30.0},
    {"duplicate_window_seconds": 120.0, "sample": {("APP", "ORDERS"): MessageSample(20, 0)}},
]


@pytest.mark.parametrize(
    ("changes", "severity"),
    [(each, Severity.WARN) for each in DEDUPE_MEANT]
    + [(each, Severity.INFO) for each in DEDUPE_NOT_MEANT],
)
def test_a_weak_spot_of_deduplication_is_warn_only_where_it_is_used(
    changes: dict[str, Any], severity: Severity
) -> None:
    seen = stream_lifecycle.stream_context(retention="workqueue", **changes)
    (one,) = found_by("dupe-not-restart-safe", seen)
    assert one.severity is severity


def test_a_sourced_stream_without_a_window_is_warn_where_ids_are_seen() -> None:
    def severity(**changes: Any) -> Severity | None:
        seen = stream_lifecycle.stream_context(sourced=True, sources=1, **changes)
        (one,) = found_by("dupe-window-off", seen)
        return one.severity

    assert severity() is Severity.INFO
    assert severity(sample={("APP", "ORDERS"): MessageSample(20, 20)}) is Severity.WARN


@pytest.mark.parametrize(
    ("row", "signals", "notes", "held"),
    [
        ({"num_ack_pending": 2}, {"floor_stalled": 301.0}, OwnerNotes(), True),
        ({"num_ack_pending": 2}, {"floor_stalled": 299.0}, OwnerNotes(), False),
        ({"num_ack_pending": 2, "num_waiting": 1}, {"floor_stalled": 301.0}, OwnerNotes(), False),
        ({"num_ack_pending": 2, "push_bound": True}, {"floor_stalled": 301.0}, OwnerNotes(), False),
        ({"num_ack_pending": 0}, {"floor_stalled": 301.0}, OwnerNotes(), False),
        ({"num_ack_pending": 2}, {"floor_stalled": 301.0}, OwnerNotes(long_jobs=600.0), False),
        (
            {"num_ack_pending": 2},
            {"floor_stalled": 301.0, "conditions": ((Condition.LONG_JOBS, 0.0),)},
            OwnerNotes(),
            False,
        ),
    ],
)
def test_a_long_ack_wait_is_warn_while_a_gone_worker_holds_messages(
    row: dict[str, Any], signals: dict[str, Any], notes: OwnerNotes, held: bool
) -> None:
    seen = consumer_context({"ack_wait_seconds": 3600.0, "notes": notes}, **row)
    of_worker = ConsumerSignals(0, 0, 0, None, 0.0, **signals)
    seen = replace(seen, signals=Signals(consumers={("APP", "ORDERS", "worker"): of_worker}))
    (one,) = found_by("ack-wait-long", seen)
    assert one.severity is (Severity.WARN if held else None)
    assert ("2 messages held for 5m1s, no client pulls" in one.evidence) is held


@pytest.mark.parametrize(("version", "severity"), [("2.11.8", None), ("2.9.14", Severity.INFO)])
def test_a_version_that_is_only_slow_is_info(version: str, severity: Severity | None) -> None:
    (one,) = found_by("version-known-bad", audit_context(server("n1", version=version)))
    assert one.severity is severity
    assert check_of("version-known-bad").severity is Severity.WARN
