"""What `streamgauge top` and `explain` print: gravest first, within 80 columns, in words."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import msgspec
import pytest
from exporter.pages.status.conditions import conditions_view
from exporter.terminal.advice import ADVICE
from exporter.terminal.report import MAX_ROWS, UnwellReport, unwell_report
from rich.console import Console
from support.documents import ROOT
from support.exporter.models import NOW
from support.exporter.status_views import HEALTHY, SUCCEEDED, consumer, view_of
from support.nats.cli_commands import nats_cli

from exporter.model import Consumer
from exporter.pages.status.level import Level
from exporter.pages.status.view import SystemView
from exporter.signals.conditions.words import Condition
from exporter.signals.results import ConsumerSignals, Signals
from exporter.terminal.explanation import explanation, level_of, not_found
from exporter.terminal.table import rendered


def held(*conditions: tuple[str, float]) -> ConsumerSignals:
    return ConsumerSignals(0, 0, 0, 4, NOW, conditions=tuple(conditions))


SIGNALS = Signals(
    consumers={
        ("$G", "ORDERS", "worker"): held(("no_worker_pulls", NOW - 900)),
        ("$G", "ORDERS", "slow"): held(("long_jobs", NOW - 60)),
    },
    stream_conditions={("$G", "ORDERS"): (("full", NOW - 30),)},
    server_conditions={"n1": (("clock_off", NOW - 7200),)},
)
UNWELL = replace(
    HEALTHY,
    conditions=conditions_view(SIGNALS, NOW),
    consumer_rows=(replace(consumer(), evidence="no pull request waits"),),
)


def printed(*systems: SystemView, height: int | None = None, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(rendered(unwell_report(view_of(*systems)), height))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_the_gravest_comes_first_with_its_evidence() -> None:
    rows = unwell_report(view_of(UNWELL)).rows
    assert [(row.level, row.what, row.where, row.since, row.evidence) for row in rows] == [
        (2, "full", "$G › ORDERS", "30 s", ""),
        (1, "clock off", "server n1", "2 h", ""),
        (1, "no worker pulls", "$G › ORDERS › worker", "15 min", "no pull request waits"),
    ]


def test_failed_requests_of_a_system_are_rows_too() -> None:
    failed = replace(SUCCEEDED, ok=False, reason="timeout", detail="no response")
    report = unwell_report(view_of(replace(HEALTHY, requests=(failed,), state="partial")))
    assert [(row.where, row.what) for row in report.rows] == [
        ("", "consumer_list failed: timeout: no response")
    ]
    assert (report.level, report.responded) == (Level.WARNING, True)


@pytest.mark.parametrize("state", ["stale", "waiting"])
def test_without_data_nothing_is_called_well(state: str) -> None:
    report = unwell_report(view_of(replace(HEALTHY, state=state)))  # type: ignore[arg-type]
    assert not report.responded
    assert report.level > Level.OK


def test_the_report_survives_the_wire() -> None:
    report = unwell_report(view_of(UNWELL))
    assert msgspec.json.decode(msgspec.json.encode(report), type=UnwellReport) == report


def test_what_does_not_fit_is_counted() -> None:
    many = {("$G", "S", f"c{n}"): held(("ack_floor_stuck", NOW - n)) for n in range(MAX_ROWS + 50)}
    unwell = replace(HEALTHY, conditions=conditions_view(Signals(consumers=many), NOW))
    report = unwell_report(view_of(unwell))
    assert (len(report.rows), report.hidden) == (MAX_ROWS, 50)
    lines = printed(unwell, height=24)
    assert len(lines) <= 24
    assert lines[-1] == "and 232 more"


def test_the_table_fits_80_columns() -> None:
    lines = printed(UNWELL)
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("demo: fresh, 3 s ago, 12 streams, 34 consumers")
    assert re.match(r"critical +full +\$G › ORDERS +30 s", lines[2])
    assert re.match(r"warning +no worker pulls +\$G › ORDERS › worker  no pull", lines[4])


def test_a_healthy_system_says_so_and_several_are_named() -> None:
    assert printed(HEALTHY)[-1] == "Nothing is unwell."
    lines = printed(UNWELL, replace(HEALTHY, name="other"))
    assert "demo: $G › ORDERS" in lines[2]


# --- explain --------------------------------------------------------------------------------------


def test_a_stuck_consumer_is_explained() -> None:
    view = replace(
        consumer(backlog=1204),
        verdict="no worker pulls / not bound",
        since_seconds=900.0,
        evidence="no pull request waits",
    )
    signals = ConsumerSignals(
        0, 0, 0, 4, NOW,
        conditions=(("no_worker_pulls", NOW - 900), ("falling_behind", NOW - 60)),
        unjudged=(("long_jobs", "no configuration"), ("ack_floor_stuck", "no configuration")),
    )  # fmt: skip
    assert list(explanation(view, signals, NOW)) == [
        "ORDERS › worker (account $G)",
        "Verdict: no worker pulls / not bound, for 15 min.",
        "Evidence: no pull request waits.",
        "Condition: no worker pulls, for 15 min.",
        "Condition: falling behind, for 1 min.",
        "Numbers: 1,204 pending, 0 of 1,000 unacknowledged, 0 redelivered, 1 pulls waiting.",
        "Not judged (no configuration): long jobs, ack floor stuck.",
        "It means: Messages wait and no worker pulls: the workers are down or connected elsewhere.",
        "Next: nats consumer info ORDERS worker",
        "Runbook: JetStreamConsumerNoWorkerPulls",
    ]
    assert level_of(view, signals) is Level.WARNING


def test_a_consumer_without_a_leader_has_no_numbers() -> None:
    lines = list(explanation(replace(consumer(), up=False), None, NOW))
    assert lines[1] == "Verdict: no leader."
    assert "Next: nats server report jetstream" in lines
    assert not any(line.startswith("Numbers") for line in lines)


def test_a_name_that_is_not_found_gets_the_nearest_ones() -> None:
    rows = [Consumer("A", "ORDERS", "worker", True, "", "", None)]
    assert not_found("ORDERS", "workr", rows) == (
        "stream ORDERS has no consumer workr (did you mean worker?)"
    )
    assert not_found("ORDER", "worker", rows) == (
        "no consumer of a stream ORDER was found (did you mean ORDERS?)"
    )
    assert not_found("ORDERS", "zzz", rows) == "stream ORDERS has no consumer zzz"


def test_every_condition_has_advice_that_works() -> None:
    assert set(ADVICE) == set(Condition)
    for condition, advice in ADVICE.items():
        words = advice.command.format(stream="S", consumer="C").split()
        assert words[0] == "nats"
        assert nats_cli().complaint(words[1:]) is None, condition
        assert (ROOT / f"docs/runbooks/{advice.runbook}.md").exists(), condition
