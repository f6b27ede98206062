"""Every check over everything that real servers ever answered: none stumbles, none invents."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.audit.contexts import KnownHistory, found_by
from support.recordings.recorded_sources import Recording, recordings, snapshot

from exporter.audit.check import Finding
from exporter.audit.context import AuditContext, MessageSample, consumer_key, stream_key
from exporter.audit.registry import all_checks
from exporter.events.counts import ConsumerCounts, EventCounts
from exporter.exposition.histogram import Histogram
from exporter.model import Snapshot

RECORDINGS = recordings()
each_recording = pytest.mark.parametrize("recording", RECORDINGS, ids=map(str, RECORDINGS))
HISTORIES = ("nothing", "little", "much")
SLOW = Histogram((0.1, 60.0), (0, 10, 1000), 1e6)


def history(amount: str) -> KnownHistory | None:
    if amount == "nothing":
        return None
    methods = [name for name in vars(KnownHistory) if not name.startswith("_")]
    number = 0.0 if amount == "little" else 1e12
    return KnownHistory(dict.fromkeys((name for name in methods if name != "numbers"), number))


def seen(recording: Recording, amount: str) -> AuditContext:
    """At two looks, with all that could be known beside."""
    rows = snapshot(recording)
    heard = {consumer_key(row): ConsumerCounts(ack_times=SLOW) for row in rows.consumers}
    scene = AuditContext(
        snapshot=rows,
        now=rows.taken,
        history=history(amount),
        events=EventCounts(consumers=heard) if amount == "much" else EventCounts(),
        messages={stream_key(row): MessageSample(10, 0) for row in rows.streams},
    )
    return replace(scene, earlier=scene, seconds=60.0)


def findings(scene: AuditContext) -> Iterator[tuple[str, Finding]]:
    for check in all_checks():
        for one in found_by(check.code, scene):
            yield check.code, one


@each_recording
@pytest.mark.parametrize("amount", HISTORIES)
def test_no_check_stumbles_and_all_findings_are_about_what_is_there(
    recording: Recording, amount: str
) -> None:
    scene = seen(recording, amount)
    rows = scene.snapshot
    names = _names(rows)
    for code, one in findings(scene):
        found = (one.account, one.stream, one.consumer, one.server)
        assert found in names, code
        assert one.evidence, code


def _names(rows: Snapshot) -> set[tuple[str, str, str, str]]:
    return {
        ("", "", "", ""),  # of the meta group
        *((row.account, row.name, "", "") for row in rows.streams),
        *((row.account, row.stream, row.name, "") for row in rows.consumers),
        *((row.name, "", "", "") for row in rows.accounts),
        *(("", "", "", row.name) for row in rows.servers),
    }


@each_recording
def test_what_is_down_or_alone_is_not_accused(recording: Recording) -> None:
    """Of rows without an answer nothing but their names is known."""
    rows = snapshot(recording)
    down = {("stream", row.account, row.name) for row in rows.streams if not row.up}
    silent = {(row.account, row.stream, row.name) for row in rows.consumers if not row.up}
    for code, one in findings(seen(recording, "much")):
        assert ("stream", one.account, one.stream) not in down or one.consumer, code
        assert (one.account, one.stream, one.consumer) not in silent, code


@pytest.mark.parametrize("source", ["account", "system", "monitor"])
def test_the_recorded_faults_are_found(source: str) -> None:
    """The recorded assets have some on purpose; so the tests above look at something."""
    (recording,) = (
        one for one in recordings("standalone") if one.version == "2.15.1" and one.source == source
    )
    found = {(code, one.stream, one.consumer) for code, one in findings(seen(recording, "nothing"))}
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
