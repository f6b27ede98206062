"""What `streamgauge top` and `explain` print: gravest first, within 80 columns, in words."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import msgspec
import pytest
from rich.console import Console
from support.exporter.models import NOW, consumer, server, stream
from support.exporter.status_views import HEALTHY, MemoryPoller, held, polled, site, view_of

from exporter.model import Consumer, Outcome
from exporter.pages.status.level import Level
from exporter.pages.status.problems import Facts
from exporter.pages.status.report import UnwellReport, unwell_report
from exporter.pages.status.unwell import MAX_ROWS
from exporter.signals.results import Signals
from exporter.terminal.explain import code_of
from exporter.terminal.explanation import explanation, not_found
from exporter.terminal.table import rendered

SIGNALS = Signals(
    consumers={
        ("APP", "ORDERS", "worker"): held(("no_worker_pulls", 900.0), ("falling_behind", 60.0)),
        ("APP", "ORDERS", "slow"): held(("long_jobs", 60.0)),
    },
    stream_conditions={("APP", "ORDERS"): (("full", NOW - 30),)},
    server_conditions={"n1": (("clock_off", NOW - 7200),)},
)
ROWS = (consumer(num_pending=50), consumer("slow"), stream(), server(offset=7.0))
UNWELL = polled(*ROWS, signals=SIGNALS)
HEALTHY_POLL = polled(consumer(), server())


def report_of(*pollers: MemoryPoller) -> UnwellReport:
    return unwell_report(site(*pollers).view())


def printed(*pollers: MemoryPoller, height: int | None = None, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(rendered(report_of(*pollers), height))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_the_rows_are_those_of_the_overview() -> None:
    report, view = report_of(UNWELL), site(UNWELL).view()
    assert report.rows == view.rows
    assert (report.headline, report.level) == (view.headline, view.level)
    assert [(row.level, row.what, row.where, row.since, row.evidence) for row in report.rows] == [
        (2, "full", "APP › ORDERS", "30 s", "– of its limit used, 0 messages, 0 B"),
        (1, "clock off", "n1", "2 h", "+7.0 s ± 1 ms"),
        (1, "no worker pulls", "APP › ORDERS › worker", "15 min", "no pull request waits, 50 pending"),
    ]  # fmt: skip


def test_failed_requests_of_a_system_are_rows_too() -> None:
    poller = polled()
    failed = msgspec.structs.replace(
        poller.state.snapshot, outcomes=(Outcome("jsz", False, 1.0, "timeout", "no response"),)
    )  # type: ignore[type-var]
    poller.state = poller.state.with_outcomes(failed, NOW)
    report = report_of(poller)
    assert [(row.where, row.what, row.evidence) for row in report.rows] == [
        ("", "jsz failed", "timeout: no response")
    ]
    assert (report.level, report.responded) == (Level.WARNING, True)


@pytest.mark.parametrize("state", ["stale", "waiting"])
def test_without_data_a_system_has_not_responded(state: str) -> None:
    report = unwell_report(view_of(replace(HEALTHY, state=state)))  # type: ignore[arg-type]
    assert not report.responded


def test_the_report_survives_the_wire() -> None:
    report = report_of(UNWELL)
    assert msgspec.json.decode(msgspec.json.encode(report), type=UnwellReport) == report


def test_what_does_not_fit_is_counted() -> None:
    names = [f"c{number}" for number in range(MAX_ROWS + 50)]
    many = {("APP", "ORDERS", name): held(("ack_floor_stuck", 60.0)) for name in names}
    unwell = polled(*(consumer(name) for name in names), signals=Signals(consumers=many))
    report = report_of(unwell)
    assert (len(report.rows), report.hidden) == (MAX_ROWS, 50)
    lines = printed(unwell, height=24)
    assert len(lines) <= 24
    assert lines[-1] == "and 232 more"


def test_the_table_fits_80_columns() -> None:
    lines = printed(UNWELL)
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("demo: fresh, just now, 1 stream, 2 consumers")
    assert re.match(r"critical +full +APP › ORDERS .* 30 s", lines[2])
    assert re.match(r"warning +clock off +server n1  \+7.0 s .* 2 h", lines[3])
    assert re.match(r"warning +no worker pulls \+1 +APP › ORDERS › worker  no pu", lines[4])


def test_a_healthy_system_says_so_and_several_are_named() -> None:
    assert printed(HEALTHY_POLL)[-1] == "Nothing is unwell."
    lines = printed(UNWELL, HEALTHY_POLL)
    assert "demo: APP › ORDERS" in lines[2]


# --- explain --------------------------------------------------------------------------------------


def test_a_stuck_consumer_is_explained() -> None:
    stuck = held(
        ("no_worker_pulls", 900.0), ("falling_behind", 60.0), ("long_jobs", 5.0), lag=1000.0,
        unjudged=(("acks_late", "no configuration"), ("ack_floor_stuck", "no configuration")),
    )  # fmt: skip
    facts = Facts(Signals(consumers={("APP", "ORDERS", "worker"): stuck}), NOW, {})
    assert list(explanation(consumer(num_pending=1204), facts)) == [
        "ORDERS › worker (account APP)",
        "State: no worker pulls.",
        "Warning: no worker pulls, for 15 min: no pull request waits, 1,204 pending, oldest "
        "unfinished 16 min old.",
        "Warning: falling behind, for 1 min: 1,204 pending, oldest unfinished 16 min old.",
        "Note: long jobs, for 5 s: in-progress acks extend ack_wait.",
        "Numbers: 1,204 pending, 0 of 1,000 unacknowledged, 0 redelivered, 0 pulls waiting.",
        "Not judged (no configuration): acks late, ack floor stuck.",
        "It means: Messages wait and no worker pulls: the workers are down or connected elsewhere.",
        "Next: nats consumer info ORDERS worker",
        "Runbook: JetStreamConsumerNoWorkerPulls",
    ]


def test_what_the_last_poll_shows_first_is_seen_now() -> None:
    facts = Facts(
        Signals(consumers={("APP", "ORDERS", "worker"): held(("redelivery_high", 0.02))}), NOW, {}
    )
    assert "Warning: redelivery high, seen now." in list(explanation(consumer(), facts))
    assert msgspec.structs.replace(report_of(UNWELL).rows[0], since_seconds=0.02).since == "now"
    assert msgspec.structs.replace(report_of(UNWELL).rows[0], since_seconds=1.5).since == "1 s"


def test_a_user_who_sees_nothing_is_told_where_to_look() -> None:
    assert "--source system" in not_found("ORDERS", "worker", [])


def test_a_consumer_without_a_leader_has_no_numbers() -> None:
    gone = Signals(consumers={("APP", "ORDERS", "worker"): held(("no_leader", 5.0))})
    lines = list(explanation(consumer(up=False), Facts(gone, NOW, {})))
    assert lines[1] == "State: no leader."
    assert "Next: nats server report jetstream" in lines
    assert not any(line.startswith("Numbers") for line in lines)


@pytest.mark.parametrize(
    ("levels", "code"),
    [
        ((None, Level.OK), 0),
        ((Level.WARNING, None), 1),
        ((Level.WARNING, Level.CRITICAL), 2),
        ((None, None), 3),
        ((), 3),
    ],
)
def test_one_system_that_has_the_consumer_decides(
    levels: tuple[Level | None, ...], code: int
) -> None:
    assert code_of(levels) == code


def test_a_name_that_is_not_found_gets_the_nearest_ones() -> None:
    rows = [Consumer("A", "ORDERS", "worker", True, "", "", None)]
    assert not_found("ORDERS", "workr", rows) == (
        "stream ORDERS has no consumer workr (did you mean worker?)"
    )
    assert not_found("ORDER", "worker", rows) == (
        "no consumer of a stream ORDER was found (did you mean ORDERS?)"
    )
    assert not_found("ORDERS", "zzz", rows) == "stream ORDERS has no consumer zzz"
