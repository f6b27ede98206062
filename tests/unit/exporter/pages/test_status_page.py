"""The status page as text: what it says, that it stays escaped, small and self-contained."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exporter.status_views import HEALTHY, HOSTILE, SUCCEEDED, consumer, page_of, view_of

from exporter.pages.status.level import Level
from exporter.pages.status.page import content_security_policy
from exporter.pages.status.view import (
    RequestView,
    ServerView,
    ago,
    headline,
    listed,
    overall,
    span,
    troubles,
)

VOID = {"meta", "link", "input"}


class Outline(HTMLParser):
    """What a browser would see: tags that must balance, attributes, and the rows of each table."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.inline: dict[str, str] = {"style": "", "script": ""}
        self.rows: list[list[str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.inline:
            self.inline[self.open[-1]] += data
            return
        self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.text))

    def consumer_rows(self) -> list[list[str]]:
        return [row for row in self.rows if len(row) == 11 and row[0] != "Account"]


def test_a_healthy_system_is_reported_in_one_line() -> None:
    expected = (
        "demo: fresh, 3 s ago · 2 of 2 requests succeeded · 1/1 servers · 12 streams · 34 consumers"
    )
    assert expected in Outline(page_of(HEALTHY)).words
    assert troubles(HEALTHY) == ()
    assert overall(view_of(HEALTHY)).level is Level.OK


def test_a_system_that_waits_claims_no_counts() -> None:
    waiting = replace(HEALTHY, state="waiting", age_seconds=None, servers_responding=0, requests=())
    assert headline(waiting) == (
        "waiting for the first response",
        "0 of 0 requests succeeded",
        "0/1 servers",
    )
    assert overall(view_of(waiting)).text == "demo has not responded yet"


def test_a_stale_system_shows_since_when_and_what_follows() -> None:
    stale = replace(HEALTHY, state="stale", age_seconds=252.0)
    (trouble,) = troubles(stale)
    assert trouble.level is Level.CRITICAL
    assert trouble.text.startswith("No usable response for 4 min.")
    assert "absent from /metrics" in trouble.text
    assert overall(view_of(HEALTHY, stale)).text == "demo has critical problems"


def test_requests_that_failed_for_one_reason_share_a_sentence() -> None:
    failed = replace(SUCCEEDED, ok=False, reason="timeout", detail="no response within 2 s")
    partial = replace(
        HEALTHY, state="partial", requests=(SUCCEEDED, failed, replace(failed, request="varz"))
    )
    assert [trouble.text for trouble in troubles(partial)] == [
        "consumer_list and varz failed: timeout: no response within 2 s"
    ]


def test_a_failure_without_a_reason_is_not_passed_over() -> None:
    partial = replace(HEALTHY, state="partial", requests=(replace(SUCCEEDED, ok=False),))
    assert "consumer_list failed: no reason given" in Outline(page_of(partial)).words


def test_a_partial_poll_is_never_called_fine() -> None:
    assert replace(HEALTHY, state="partial").level is Level.WARNING


def test_missing_servers_are_named_and_come_first() -> None:
    down = ServerView("n2", "2.14.6", up=False, detail="last seen 2 min ago")
    system = replace(HEALTHY, servers_expected=2, servers=(*HEALTHY.servers, down))
    assert [trouble.text for trouble in troubles(system)] == ["1 of 2 servers did not respond: n2"]
    servers = [row[0] for row in Outline(page_of(system)).rows if len(row) == 4]
    assert servers == ["Server", "n2", "n1"]


def test_many_healthy_servers_are_folded_away_but_not_when_one_is_down() -> None:
    servers = tuple(ServerView(f"n{number}", "2.15.1", up=True) for number in range(9))
    healthy = replace(HEALTHY, servers=servers)
    with_down = replace(HEALTHY, servers=(*servers, ServerView("n9", "", up=False)))
    assert page_of(healthy).count("<details open>") == 1
    assert page_of(with_down).count("<details open>") == 2


def test_unhealthy_consumers_are_named_gravest_first() -> None:
    rows = (
        replace(consumer("slow"), verdict="falling behind"),
        replace(consumer("lost"), up=False),
        replace(consumer("full"), num_ack_pending=1000),
        replace(consumer("held"), paused=True, verdict="falling behind"),
    )
    assert [trouble.text for trouble in troubles(replace(HEALTHY, consumer_rows=rows))] == [
        "1 consumer: no leader (ORDERS › lost)",
        "1 consumer: falling behind (ORDERS › slow)",
        "1 consumer: ack-pending full (ORDERS › full)",
    ]


def test_counts_of_unhealthy_consumers_are_lower_bounds_when_rows_were_cut() -> None:
    rows = (replace(consumer("slow"), verdict="falling behind"),)
    (trouble,) = troubles(replace(HEALTHY, consumer_rows=rows, consumers_hidden=5))
    assert trouble.text.startswith("At least 1 consumer: falling behind")


def test_a_level_is_shown_by_a_symbol_and_words_and_not_by_colour_alone() -> None:
    system = replace(HEALTHY, consumer_rows=(replace(consumer(), verdict="redelivery loop"),))
    (row,) = Outline(page_of(system)).consumer_rows()
    assert row[3] == "▲ redelivery loop"
    assert "▲ demo has warnings" in Outline(page_of(system)).words


def test_rows_are_sorted_by_backlog_and_unknown_ones_last() -> None:
    rows = (consumer("few", 9), replace(consumer("gone", 0), up=False), consumer("many", 1_000_000))
    found = Outline(page_of(replace(HEALTHY, consumer_rows=rows))).consumer_rows()
    assert [(row[2], row[4]) for row in found] == [
        ("many", "1,000,000"),
        ("few", "9"),
        ("gone", "–"),
    ]
    assert set(found[2][4:10]) == {"–"}


def test_what_was_cut_is_reported() -> None:
    rows = tuple(consumer(f"c{number}", number) for number in range(1000))
    page = page_of(replace(HEALTHY, consumer_rows=rows, consumers_hidden=99_000))
    assert "1,000 of 100,000 shown, worst backlog first" in Outline(page).words
    assert len(page.encode()) < 400_000


def test_a_system_without_streams_shows_what_to_do() -> None:
    empty = replace(HEALTHY, streams=0, consumers=0, consumer_rows=())
    assert (
        "No streams yet. Create one, for example with nats stream add"
        in Outline(page_of(empty)).words
    )
    assert "check that account" in page_of(empty)
    assert "check that account" not in page_of(replace(empty, source="system"))


def test_streams_without_consumers_are_not_called_missing() -> None:
    page = page_of(replace(HEALTHY, consumers=0, consumer_rows=()))
    assert "12 streams without consumers." in page


def test_nothing_is_called_empty_while_a_request_is_open() -> None:
    failed = replace(SUCCEEDED, ok=False, reason="timeout")
    for state in ("partial", "stale", "waiting"):
        system = replace(HEALTHY, state=state, streams=0, consumer_rows=(), requests=(failed,))
        assert "No streams yet" not in page_of(system)
        assert "No data at the moment" in page_of(system)


def test_a_password_in_an_address_or_an_error_is_never_shown() -> None:
    address = "nats://someone:p@ss/word@host:4222"
    failed = replace(SUCCEEDED, ok=False, reason="connection", detail=f"cannot reach {address}")
    page = page_of(replace(HEALTHY, targets=(address,), state="partial", requests=(failed,)))
    assert "word" not in re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    assert "nats://host:4222" in page


def test_hostile_names_stay_text() -> None:
    row = replace(
        consumer(HOSTILE), account=HOSTILE, stream=HOSTILE, leader=HOSTILE, verdict=HOSTILE
    )
    system = replace(
        HEALTHY,
        name=HOSTILE,
        targets=(HOSTILE,),
        notes=(HOSTILE,),
        requests=(RequestView(HOSTILE, False, 1.0, None, HOSTILE, HOSTILE),),
        servers=(ServerView(HOSTILE, HOSTILE, False, HOSTILE),),
        consumer_rows=(row,),
    )
    hostile, plain = Outline(page_of(system)), Outline(page_of(HEALTHY))
    assert "img" not in hostile.tags
    assert hostile.tags.count("script") == plain.tags.count("script") == 1
    assert hostile.inline == plain.inline
    assert ("section", "data-system", HOSTILE) in hostile.attributes


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1))
def test_any_name_comes_back_as_it_went_in(name: str) -> None:
    (row,) = Outline(page_of(replace(HEALTHY, consumer_rows=(consumer(name),)))).consumer_rows()
    assert row[2] == name


def test_the_policy_allows_exactly_the_inline_style_and_script() -> None:
    inline = Outline(page_of(HEALTHY)).inline
    policy = dict(part.split(" ", 1) for part in content_security_policy().split("; "))
    assert policy["default-src"] == "'none'"
    for directive, kind in (("style-src", "style"), ("script-src", "script")):
        digest = base64.b64encode(hashlib.sha256(inline[kind].encode()).digest()).decode()
        assert policy[directive] == f"'sha256-{digest}'"


def test_nothing_in_the_page_needs_more_than_the_policy_gives() -> None:
    outline = Outline(page_of(HEALTHY))
    assert outline.open == []
    assert not [name for _, name, _ in outline.attributes if name == "style" or name[:2] == "on"]
    loaded = [(tag, value) for tag, name, value in outline.attributes if name in ("src", "href")]
    assert [tag for tag, value in loaded if tag != "a" and not value.startswith("data:")] == []
    assert "url(" not in outline.inline["style"]
    assert "@import" not in outline.inline["style"]


def test_links_lead_to_the_endpoints_and_the_documents() -> None:
    links = [
        value
        for tag, name, value in Outline(page_of(HEALTHY)).attributes
        if (tag, name) == ("a", "href")
    ]
    assert links == ["metrics", "-/healthy", "-/ready", "https://docs.invalid/", "#system-1"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (-0.2, "0 ms"),
        (0.0124, "12 ms"),
        (3.9, "3 s"),
        (59.9, "59 s"),
        (252, "4 min"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (93_600, "1 d 2 h"),
    ],
)
def test_times_are_reported_in_units_a_person_uses(seconds: float | None, words: str) -> None:
    assert span(seconds) == words


def test_ages_that_are_not_known_or_not_past_are_words() -> None:
    assert (ago(None), ago(-1), ago(0.5), ago(60)) == ("never", "just now", "just now", "1 min ago")


def test_long_lists_are_counted_after_three_names() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
