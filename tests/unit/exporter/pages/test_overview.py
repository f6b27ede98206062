"""The overview: one list of all that is unwell, and a headline that agrees with what fires."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed
from support.exporter.models import NOW, consumer, server, stream, stream_config
from support.exporter.outline import Outline
from support.exporter.status_views import (
    HEALTHY,
    HOSTILE,
    SUCCEEDED,
    held,
    page_of,
    polled,
    site,
    view_of,
)

from exporter.model import Account, AccountUsage, MetaGroup, Outcome, Replica
from exporter.pages.rendering import STATUS_POLICY
from exporter.pages.status import unwell
from exporter.pages.status.level import Level
from exporter.pages.status.unwell import UnwellRow
from exporter.pages.status.view import RequestView
from exporter.polling.state import SystemState
from exporter.signals.results import Signals

STUCK = held(("ack_pending_full", 300.0), ("nothing_finished", 200.0), ("no_worker_pulls", 900.0))
SIGNALS = Signals(
    consumers={
        ("APP", "ORDERS", "worker"): STUCK,
        ("APP", "ORDERS", "busy"): held(("long_jobs", 60.0)),
        ("APP", "ORDERS", "again"): held(("redelivery_high", 40.0), redelivery_ratio=0.5),
    },
    stream_conditions={("APP", "ORDERS"): (("full", NOW - 30),)},
    server_conditions={"n1": (("clock_off", NOW - 7200),)},
    unjudged={("filling", "watched too briefly"): 3},
)
ROWS = (
    consumer(num_pending=5, num_ack_pending=1000),
    consumer("busy"),
    consumer("again"),
    stream(config=stream_config(discard="new", max_messages=10), messages=10),
    server(offset=7.0),
)
UNWELL = polled(*ROWS, signals=SIGNALS)


def unwell_rows(page: str) -> list[list[str]]:
    return [row for row in Outline(page).cells if len(row) == 5 and row[4].startswith("Runbook")]


def test_one_row_for_each_asset_gravest_first_with_since_evidence_and_links() -> None:
    page = site(UNWELL, grafana="https://g.example/").overview()
    rows = unwell_rows(page)
    assert [(row[0], row[1]) for row in rows] == [
        ("✕ critical: ack pending full", "APP › ORDERS › worker consumer"),
        ("✕ critical: full", "APP › ORDERS stream"),
        ("▲ warning: clock off", "n1 server"),
        ("▲ warning: redelivery high", "APP › ORDERS › again consumer"),
    ]
    assert rows[0][2] == "5 min 22:08 UTC"
    assert rows[0][3] == (
        "1,000 of 1,000 unacknowledged ✕ nothing finished 3 min ▲ no worker pulls 15 min"
    )
    assert rows[2][3] == "+7.0 s ± 1 ms"
    links = Outline(page).links
    assert "docs/runbooks/JetStreamConsumerAckPendingFull" in links
    assert "consumer?system=demo&account=APP&stream=ORDERS&consumer=worker" in links
    board = "https://g.example/d/sg-consumer?orgId=1&var-system=demo&var-account=APP"
    assert any(link.startswith(board) for link in links)


def test_without_grafana_there_are_no_links_to_boards() -> None:
    assert not [link for link in Outline(site(UNWELL).overview()).links if "://" in link]


def test_the_headline_counts_what_pages_and_what_raises_tickets() -> None:
    view = site(UNWELL).view()
    assert (view.headline, view.level) == ("2 critical, 2 warnings", Level.CRITICAL)
    page = Outline(site(UNWELL).overview())
    assert "✕ 2 critical, 2 warnings" in page.words
    assert ("section", "class", "summary critical") in page.attributes
    assert "publishes that are not stored" in page.words, "what no poll shows is said"


def test_half_of_the_deliveries_being_redeliveries_is_not_ok() -> None:
    again = {("APP", "ORDERS", "again"): SIGNALS.consumers["APP", "ORDERS", "again"]}
    only = polled(consumer("again"), signals=Signals(consumers=again))
    assert (site(only).view().headline, site(only).view().level) == ("1 warning", Level.WARNING)


def test_a_healthy_system_is_reported_in_one_line() -> None:
    page = Outline(page_of(HEALTHY))
    expected = (
        "demo: fresh, 3 s ago · 2 of 2 requests succeeded · 1/1 servers · 12 streams · 34 consumers"
    )
    assert expected in page.words
    assert "✓ Nothing is unwell" in page.words
    assert "What is unwell" not in page.words


def test_what_does_not_fit_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unwell.unwell_assets, "__defaults__", (2,))
    view = site(UNWELL).view()
    assert ([row.what for row in view.rows], view.hidden) == (["ack pending full", "full"], 2)
    assert "2 of 4 shown" in Outline(site(UNWELL).overview()).words
    assert view.headline == "2 critical, at least 0 warnings"


def test_what_is_not_judged_is_named() -> None:
    assert "filling: 3 not judged, watched too briefly" in site(UNWELL).overview()


# --- systems as a whole, and the exporter ----------------------------------------------------------


def texts(poller: object) -> list[tuple[int, str, str]]:
    rows = site(poller).view().rows  # type: ignore[arg-type]
    return [(row.level, row.what, row.evidence) for row in rows]


def test_a_system_that_waits_claims_no_counts() -> None:
    waiting = polled()
    waiting.state = SystemState(45.0)
    view = site(waiting).view()
    assert view.headline == "demo has not responded yet"
    assert view.systems[0].summary == (
        "waiting for the first response",
        "0 of 0 requests succeeded",
    )
    assert texts(waiting) == [(1, "not responded yet", "no response from nats://127.0.0.1:4222")]


def test_a_stale_system_is_critical_with_since_when_and_what_follows() -> None:
    stale = polled(*ROWS, signals=SIGNALS, now=NOW - 252)
    (row,) = site(stale).view().rows
    assert (row.level, row.what, row.since_seconds) == (2, "no usable response", 252)
    assert "absent from /metrics" in row.evidence
    assert row.runbook == "docs/runbooks/JetStreamSystemUnreachable"


def test_requests_that_failed_for_one_reason_share_a_row() -> None:
    poller = polled()
    failed = [Outcome(name, False, 1.0, "timeout", "within 2 s") for name in ("varz", "jsz")]
    outcomes = changed(poller.state.snapshot, outcomes=tuple(failed), complete=False)  # type: ignore[type-var]
    poller.state = poller.state.with_outcomes(outcomes, NOW)
    assert texts(poller) == [(1, "jsz and varz failed", "timeout: within 2 s")]
    (row,) = site(poller).view().rows
    assert row.since_seconds == 0  # since the last success of jsz


def test_a_failure_without_a_reason_and_a_partial_poll_are_never_called_fine() -> None:
    poller = polled()
    bare = changed(poller.state.snapshot, outcomes=(Outcome("jsz", False, 1.0),))  # type: ignore[type-var]
    whole = poller.state
    poller.state = whole.with_outcomes(bare, NOW)
    assert texts(poller) == [(1, "jsz failed", "no reason given")]
    poller.state = whole.failed()
    assert texts(poller) == [(1, "poll incomplete", "")]


def test_a_server_that_is_down_is_one_row_and_missing_ones_without_a_name_too() -> None:
    down = Signals(server_conditions={"n2": (("down", NOW - 60),)})
    rows = (server("n1"), server("n2", up=False, offset=None))
    counts = {"servers_expected": 2, "servers_responding": 1}
    assert [row[1] for row in texts(polled(*rows, signals=down, **counts))] == ["down"]
    assert texts(polled(**counts)) == [(1, "servers missing", "1 of 2 servers did not respond")]


def test_the_meta_group_and_accounts_are_in_the_list() -> None:
    meta = MetaGroup("", pending=10**7, replicas=(Replica("n9", 0, True, 5.0),))
    usage = AccountUsage("", storage_used=96, storage_limit=100, memory_used=85, memory_limit=100)
    found = texts(
        polled(server(meta_leader=False), meta=meta, accounts=(Account("APP", (usage,)),))
    )
    assert found == [
        (2, "no meta leader", ""),
        (2, "account full", "96% of its storage limit used"),
        (1, "meta peer offline", "n9"),
        (1, "meta pending high", "10,000,000 pending operations"),
        (1, "account filling", "85% of its memory limit used"),
    ]


def test_dropped_series_and_a_failed_reload_are_troubles_of_the_exporter() -> None:
    poller = polled()
    poller.state = replace(poller.state, rendered=replace(poller.state.rendered, dropped=12))
    assert texts(poller) == [(1, "series dropped", "12 series above max_series")]
    rows = site(polled(), reload_ok=False).view().rows
    assert [(row.what, row.system) for row in rows] == [("reload failed", "")]


def test_several_systems_are_named_in_the_rows() -> None:
    other = polled(*ROWS, signals=SIGNALS)
    other.system = "other"
    other.state = replace(other.state, snapshot=changed(other.state.snapshot, system="other"))  # type: ignore[type-var]
    words = Outline(site(UNWELL, other).overview()).words
    assert "other APP › ORDERS › worker" in words


# --- markup -----------------------------------------------------------------------------------------


def test_a_system_without_streams_shows_what_to_do() -> None:
    empty = replace(HEALTHY, streams=0, consumers=0)
    words = Outline(page_of(empty)).words
    assert "No streams yet. Create one, for example with nats stream add" in words
    assert "check that account" in words
    assert "check that account" not in page_of(replace(empty, source="system"))


def test_nothing_is_called_empty_while_a_request_is_open() -> None:
    failed = replace(SUCCEEDED, ok=False, reason="timeout")
    for state in ("partial", "stale", "waiting"):
        page = page_of(replace(HEALTHY, state=state, streams=0, requests=(failed,)))  # type: ignore[arg-type]
        assert "No streams yet" not in page
        assert "No data at the moment" in page


def test_a_password_in_an_address_or_an_error_is_never_shown() -> None:
    address = "nats://someone:p@ss/word@host:4222"
    failed = replace(SUCCEEDED, ok=False, reason="connection", detail=f"cannot reach {address}")
    row = UnwellRow(1, "system", "demo", "", "varz failed", None, f"cannot reach {address}")
    page = page_of(replace(HEALTHY, targets=(address,), requests=(failed,), unwell=(row,)))
    assert "word" not in re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    assert "nats://host:4222" in page


def test_hostile_names_stay_text() -> None:
    row = UnwellRow(1, "consumer", HOSTILE, HOSTILE, HOSTILE, 1.0, HOSTILE, HOSTILE, "x", "", ())
    system = replace(
        HEALTHY, name=HOSTILE, targets=(HOSTILE,), notes=(HOSTILE,), unwell=(row,),
        requests=(RequestView(HOSTILE, False, 1.0, None, HOSTILE, HOSTILE),),
    )  # fmt: skip
    hostile, plain = Outline(page_of(system)), Outline(page_of(HEALTHY))
    assert "img" not in hostile.tags
    assert hostile.tags.count("script") == plain.tags.count("script") == 1
    assert hostile.inline == plain.inline


def test_the_policy_allows_exactly_the_inline_style_and_script() -> None:
    inline = Outline(page_of(HEALTHY)).inline
    policy = dict(part.split(" ", 1) for part in STATUS_POLICY.split("; "))
    assert policy["default-src"] == "'none'"
    for directive, kind in (("style-src", "style"), ("script-src", "script")):
        digest = base64.b64encode(hashlib.sha256(inline[kind].encode()).digest()).decode()
        assert policy[directive] == f"'sha256-{digest}'"


@pytest.mark.parametrize("name", ["overview", "consumers", "consumer", "stream", "server"])
def test_nothing_in_a_page_needs_more_than_the_policy_gives(name: str) -> None:
    made, names = site(UNWELL), {"account": "APP", "stream": "ORDERS", "consumer": "worker"}
    page = {
        "overview": made.overview,
        "consumers": lambda: made.table("consumers", {})[1],
    }.get(name, lambda: made.asset(name, {"system": "demo", "server": "n1", **names})[1])()
    outline = Outline(page)
    assert outline.open == []
    assert not [each for _, each, _ in outline.attributes if each == "style" or each[:2] == "on"]
    loaded = [(tag, value) for tag, name, value in outline.attributes if name in ("src", "href")]
    assert [tag for tag, value in loaded if tag != "a" and not value.startswith("data:")] == []
    assert "url(" not in outline.inline["style"]
    assert "@import" not in outline.inline["style"]
    assert len(page.encode()) < 40_000


def test_links_lead_to_the_pages_and_the_documents() -> None:
    assert Outline(page_of(HEALTHY)).links == [
        "#main", "./", "consumers", "streams", "servers", "docs/runbooks/", "metrics", "#system-1",
        "servers?system=demo", "streams?system=demo", "consumers?system=demo",
        "https://docs.invalid/",
    ]  # fmt: skip


def test_the_view_of_no_system_says_so() -> None:
    assert (view_of().headline, view_of().level) == ("No system is configured", Level.WARNING)
