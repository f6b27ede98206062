"""The tables of consumers, streams and servers: sorted, searched and cut into pages on the server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exporter.models import (
    NOW,
    at,
    consumer,
    consumer_config,
    server,
    stream,
    stream_config,
)
from support.exporter.outline import Outline
from support.exporter.status_views import HOSTILE, MemoryPoller, held, polled, site

from exporter.pages.tables.table import PAGE_ROWS, Query
from exporter.signals.results import Signals
from exporter.signals.verdict import Verdict

CONSUMERS = (
    consumer("few", num_pending=9),
    consumer("many", num_pending=1_000_000, config=consumer_config(kind="push")),
    consumer("gone", up=False),
    consumer("again", num_pending=1),
    consumer("paused", paused=True),
    consumer("other", stream="PAYMENTS", account="ACME", num_ack_pending=4),
)
SIGNALS = Signals(
    consumers={
        ("APP", "ORDERS", "few"): held(verdict=Verdict.OK, lag=75.0),
        ("APP", "ORDERS", "gone"): held(("no_leader", 60.0), verdict=Verdict.NO_LEADER),
        ("APP", "ORDERS", "again"): held(("redelivery_high", 30.0), verdict=Verdict.OK),
        ("APP", "ORDERS", "paused"): held(("paused_backlog", 30.0), verdict=Verdict.PAUSED),
    }
)
POLLER = polled(*CONSUMERS, signals=SIGNALS)


def rows(name: str = "consumers", poller: MemoryPoller = POLLER, **query: str) -> list[list[str]]:
    status, page = site(poller).table(name, query)
    assert status == 200
    outline = Outline(page)
    assert outline.open == []
    return outline.cells[1:]


def names(**query: str) -> list[str]:
    return [row[0] for row in rows(**query)]


def test_the_gravest_come_first_and_then_the_largest_backlog() -> None:
    assert names() == ["gone", "again", "many", "few", "other", "paused"]


def test_a_row_shows_state_since_when_and_numbers_that_are_known() -> None:
    found = {row[0]: row for row in rows()}
    assert found["gone"][3:9] == ["✕ no leader for 1 min", "–", "–", "–", "–", "–"]
    assert found["again"][3] == "▲ redelivery high for 30 s"
    assert found["few"] == [
        "few",
        "ORDERS",
        "APP",
        "ok",
        "9",
        "0 of 1,000",
        "1 min",
        "0",
        "0",
        "n1",
    ]
    assert found["many"][8] == "–"  # push: no pull requests
    assert found["paused"][3] == "paused"
    assert found["other"][3] == "not judged yet"


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("consumer", ["again", "few", "gone", "many", "other", "paused"]),
        ("-consumer", ["paused", "other", "many", "gone", "few", "again"]),
        ("-pending", ["many", "few", "again", "paused", "other", "gone"]),
        ("pending", ["paused", "other", "again", "few", "many", "gone"]),
        ("state", ["gone", "again", "many", "other", "few", "paused"]),
        ("-lag", ["few", "many", "gone", "again", "paused", "other"]),
        ("-nothing", ["gone", "again", "many", "few", "other", "paused"]),
    ],
)
def test_any_column_sorts_and_unknown_values_are_last(sort: str, order: list[str]) -> None:
    assert names(sort=sort) == order


@pytest.mark.parametrize(
    ("search", "found"),
    [("MANY", ["many"]), ("payments", ["other"]), ("acme", ["other"]), ("nowhere", [])],
)
def test_a_search_looks_at_all_names(search: str, found: list[str]) -> None:
    assert names(q=search) == found


def test_a_search_that_finds_nothing_says_so() -> None:
    page = Outline(site(POLLER).table("consumers", {"q": "nowhere"})[1])
    assert "None of 6" in page.words
    assert "No consumer matches “nowhere”." in page.words


MANY = polled(*(consumer(f"c{number:04d}", num_pending=number) for number in range(950)))


def test_pages_are_bounded_and_linked() -> None:
    page = Outline(site(MANY).table("consumers", {"q": "c0", "sort": "-pending", "page": "3"})[1])
    shown = page.cells[1:]
    assert (len(shown), shown[0][0], shown[-1][0]) == (PAGE_ROWS, "c0749", "c0650")
    assert "201 to 300 of 950" in page.words
    assert "Page 3 of 10" in page.words
    # The links keep search and order.
    assert "?system=demo&q=c0&sort=-pending&page=4" in page.links
    assert "?system=demo&q=c0&sort=-pending" in page.links
    assert "?system=demo&q=c0&sort=pending" in page.links  # turns the order, on the first page


@pytest.mark.slow
def test_a_hundred_thousand_rows_are_sorted_and_searched() -> None:
    """What it costs: python -m bench pages."""
    count = 100_000
    pending = {f"c{number:05d}": number * 7919 % 100_003 for number in range(count)}
    poller = polled(*(consumer(name, num_pending=waits) for name, waits in pending.items()))
    ranked = sorted(pending, key=lambda name: -pending[name])
    found = [row[0] for row in rows(poller=poller, sort="-pending", page="700")]
    assert found == ranked[699 * PAGE_ROWS : 700 * PAGE_ROWS]
    assert [row[0] for row in rows(poller=poller, q="C54321")] == ["c54321"]
    page = Outline(site(poller).table("consumers", {"q": "c1"})[1])
    assert "1 to 100 of 10,000" in page.words


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999999999999", "", "11"])
def test_a_page_that_does_not_exist_is_one_that_does(page: str) -> None:
    assert len(rows(poller=MANY, page=page)) in (PAGE_ROWS, 950 % PAGE_ROWS)


def test_the_sorted_column_is_marked_for_screen_readers() -> None:
    page = Outline(site(POLLER).table("consumers", {"sort": "-pending"})[1])
    assert page.values("aria-sort") == ["descending"]


def test_hostile_names_and_searches_stay_text() -> None:
    poller = polled(consumer(HOSTILE, stream=HOSTILE, account=HOSTILE, leader=HOSTILE))
    page = Outline(site(poller).table("consumers", {"q": HOSTILE})[1])
    assert page.cells[1][0] == HOSTILE
    assert "img" not in page.tags
    assert page.tags.count("script") == 1


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1))
def test_any_name_comes_back_as_it_went_in(name: str) -> None:
    page = Outline(site(polled(consumer(name))).table("consumers", {})[1])
    assert page.rows[1][0] == name


@given(st.dictionaries(st.sampled_from(["q", "sort", "page"]), st.text(max_size=30)))
def test_no_query_fails(query: dict[str, str]) -> None:
    assert site(POLLER).table("consumers", query)[0] == 200


def test_streams_have_a_table_of_their_own() -> None:
    limited = stream_config(max_bytes=2048, discard="new", replicas=3)
    full = stream("FULL", bytes=2048, messages=9, consumers=2, config=limited)
    signals = Signals(stream_conditions={("APP", "FULL"): (("full", NOW - 30),)})
    poller = polled(stream("SMALL", bytes=10, messages=1), full, stream("GONE", up=False), signals=signals)  # fmt: skip
    found = rows("streams", poller)
    assert found[0] == [
        "FULL", "APP", "✕ full for 30 s", "9", "2 KiB", "100%", "2", "3", "limits", "n1",
    ]  # fmt: skip
    assert [row[0] for row in rows("streams", poller, sort="-bytes")] == ["FULL", "SMALL", "GONE"]


def test_servers_have_a_table_of_their_own_also_without_a_response() -> None:
    signals = Signals(server_conditions={"n2": (("clock_off", NOW - 60),)})
    used: dict[str, Any] = {"storage_used": 1024, "storage_max": 2048, "start": at(NOW - 3600)}
    servers = (server("n1", **used), server("n2", offset=-7.2, version="2.15.1"))
    found = rows("servers", polled(*servers, signals=signals))
    assert [row[0] for row in found] == ["n2", "n1"]
    assert found[0][2] == "▲ clock off for 1 min"
    assert found[0][6] == "-7.2 s"
    assert (found[1][4], found[1][9]) == ("1 KiB of 2 KiB", "1 h")
    stale = polled(*servers, now=NOW - 600)
    assert len(rows("servers", stale)) == 2
    assert "No data of demo at the moment" in site(stale).table("consumers", {})[1]


def test_several_systems_have_a_choice_and_an_unknown_one_is_not_found() -> None:
    other = polled(*CONSUMERS[:1])
    other.system = "a&b"
    status, page = site(POLLER, other).table("consumers", {"system": "a&b", "q": "few"})
    assert status == 200
    assert Outline(page).cells[1][0] == "few"
    assert "?system=demo&q=few" in Outline(page).links
    assert site(POLLER).table("consumers", {"system": "none"})[0] == 404


def test_a_long_search_is_cut() -> None:
    assert len(Query.of({"q": "x" * 5000}).search) == 200


def test_a_page_stays_small() -> None:
    page = site(MANY).table("consumers", {})[1]
    assert page.count("<tr>") == PAGE_ROWS + 1
    assert len(page.encode()) < 200_000
