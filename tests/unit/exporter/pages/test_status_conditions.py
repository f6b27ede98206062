"""The conditions on the status page: all of them, the gravest first, and what is not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.exporter.models import NOW
from support.exporter.status_views import HEALTHY, page_of

from exporter.pages.status import conditions
from exporter.pages.status.conditions import conditions_view
from exporter.pages.status.level import Level
from exporter.pages.status.view import troubles
from exporter.signals.results import ConsumerSignals, Signals

WORKER = ("APP", "ORDERS", "worker")
SIGNALS = Signals(
    consumers={
        WORKER: ConsumerSignals(
            0, 0, 0, 4, NOW,
            conditions=(("no_worker_pulls", NOW - 900), ("ack_floor_stuck", NOW - 600)),
        ),
        ("APP", "ORDERS", "slow"): ConsumerSignals(
            0, 0, 0, 10, NOW, conditions=(("long_jobs", NOW - 60),)
        ),
        ("APP", "ORDERS", "fine"): ConsumerSignals(0, 0, 0, 0, NOW),
    },
    stream_conditions={("APP", "<ORDERS>"): (("full", NOW - 30),)},
    server_conditions={"n1": (("clock_off", NOW - 7200),)},
    unjudged={("filling", "watched too briefly"): 3},
)  # fmt: skip


def test_no_condition_hides_another_and_the_gravest_comes_first() -> None:
    rows = conditions_view(SIGNALS, NOW).rows
    assert [(row.text, row.kind, row.since_seconds) for row in rows] == [
        ("full", "stream", 30),
        ("clock off", "server", 7200),
        ("no worker pulls", "consumer", 900),
        ("ack floor stuck", "consumer", 600),
        ("long jobs", "consumer", 60),
    ]
    assert [row.level for row in rows] == [
        Level.CRITICAL, Level.WARNING, Level.WARNING, Level.WARNING, Level.OK,
    ]  # fmt: skip


def test_what_is_cut_off_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "MAX_ROWS", 2)
    view = conditions_view(SIGNALS, NOW)
    assert ([row.text for row in view.rows], view.hidden) == (["full", "clock off"], 3)


def test_the_page_lists_them_escaped_and_names_what_is_not_judged() -> None:
    page = page_of(replace(HEALTHY, conditions=conditions_view(SIGNALS, NOW)))
    assert "APP › &lt;ORDERS&gt;" in page
    assert "2 h" in page
    assert "filling: 3 not judged, watched too briefly" in page


def test_streams_and_servers_are_among_the_troubles() -> None:
    found = troubles(replace(HEALTHY, conditions=conditions_view(SIGNALS, NOW)))
    assert [(each.level, each.text) for each in found] == [
        (Level.CRITICAL, "1 stream: full (APP › <ORDERS>)"),
        (Level.WARNING, "1 server: clock off (n1)"),
    ]


def test_a_healthy_system_has_no_such_section() -> None:
    assert "Conditions" not in page_of(HEALTHY)
