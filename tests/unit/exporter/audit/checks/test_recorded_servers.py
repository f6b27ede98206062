"""All checks on the recorded responses of real servers."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from support.audit.contexts import KnownHistory
from support.audit.rules import assert_rule, check_file, error_of, findings_unless_broken
from support.recordings.replay import Recording, recordings, snapshot

from exporter.audit.check import Finding
from exporter.audit.context import AuditContext, MessageSample, consumer_key, stream_key
from exporter.audit.registry import all_checks
from exporter.events.counts import ConsumerCounts, EventCounts
from exporter.exposition.histogram import Histogram
from exporter.model import Snapshot

RECORDINGS = recordings()
HISTORIES = ("nothing", "little", "much")
SLOW = Histogram((0.1, 60.0), (0, 10, 1000), 1e6)


def history(amount: str) -> KnownHistory | None:
    if amount == "nothing":
        return None
    methods = [name for name in vars(KnownHistory) if not name.startswith("_")]
    number = 0.0 if amount == "little" else 1e12
    return KnownHistory(dict.fromkeys((name for name in methods if name != "numbers"), number))


def with_history(recording: Recording, amount: str) -> AuditContext:
    """Two polls of the recording, with all optional data."""
    rows = snapshot(recording)
    counts = {consumer_key(row): ConsumerCounts(ack_times=SLOW) for row in rows.consumers}
    context = AuditContext(
        snapshot=rows,
        now=rows.taken,
        history=history(amount),
        events=EventCounts(consumers=counts) if amount == "much" else EventCounts(),
        messages={stream_key(row): MessageSample(10, 0) for row in rows.streams},
    )
    return replace(context, earlier=context, seconds=60.0)


def findings(context: AuditContext) -> Iterator[tuple[str, Finding]]:
    for check in all_checks():
        for one in findings_unless_broken(check.code, context):
            yield check.code, one


def test_no_check_raises_on_recordings() -> None:
    assert_rule(
        "a check raises an exception for a recording",
        (
            f"{check_file(check.code)}: {error!r}"
            for context in (with_history(*each) for each in product(RECORDINGS, HISTORIES))
            for check in all_checks()
            if (error := error_of(check.code, context)) is not None
        ),
    )


def test_findings_on_recordings_name_existing_assets() -> None:
    violations: list[str] = []
    for recording, amount in product(RECORDINGS, HISTORIES):
        context = with_history(recording, amount)
        names = _names(context.snapshot)
        for code, one in findings(context):
            asset = (one.account, one.stream, one.consumer, one.server)
            if asset not in names or not one.evidence:
                violations.append(f"{check_file(code)}: {asset} in {recording}")
    assert_rule("a finding has no evidence or names an asset that does not exist", violations)


def _names(rows: Snapshot) -> set[tuple[str, str, str, str]]:
    return {
        ("", "", "", ""),  # of the meta group
        *((row.account, row.name, "", "") for row in rows.streams),
        *((row.account, row.stream, row.name, "") for row in rows.consumers),
        *((row.name, "", "", "") for row in rows.accounts),
        *(("", "", "", row.name) for row in rows.servers),
    }


def test_rows_that_are_down_have_no_findings_on_recordings() -> None:
    violations: list[str] = []
    for recording in RECORDINGS:
        rows = snapshot(recording)
        streams = {(row.account, row.name, "") for row in rows.streams if not row.up}
        consumers = {(row.account, row.stream, row.name) for row in rows.consumers if not row.up}
        for code, one in findings(with_history(recording, "much")):
            if (one.account, one.stream, one.consumer) in streams | consumers:
                violations.append(f"{check_file(code)}: {recording}")
    assert_rule("a check has findings for rows that are down", violations)


@pytest.mark.parametrize("source", ["account", "system", "monitor"])
def test_known_violations_in_recordings_are_found(source: str) -> None:
    """The recorded assets have violations on purpose."""
    (recording,) = (
        one for one in recordings("standalone") if one.version == "2.15.1" and one.source == source
    )
    found = {
        (code, one.stream, one.consumer)
        for code, one in findings(with_history(recording, "nothing"))
    }
    assert {
        ("max-ack-pending-unlimited", "ORDERS", "endless"),
        ("no-ack-durable", "ORDERS", "careless"),
        ("push-unprotected", "LIMITED", "unbound"),
        ("limit-unreadable", "LIMITED", ""),
        ("dupe-window-short", "LIMITED", ""),
        ("replicas-memory-one", "JOBS", ""),
        ("discard-new-unlimited", "EVENTS", ""),
    } <= found
    assert ("push-unprotected", "LIMITED", "glance") not in found
    assert ("dupe-window-short", "ORDERS", "") not in found
