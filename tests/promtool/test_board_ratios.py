"""Ratios of the boards in the real promtool: shown where both sides cover their window, else absent."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from support.promtool.board_queries import failures, found_promtool, query

from dashboards.queries import SELDOM_REQUEST
from exporter.sources.subsz.reader import REQUEST

WHO: Final = 'job="j",instance="i",system="s"'
STREAM: Final = f'{WHO},account="A",stream="CARTS"'
CONSUMER: Final = f'{STREAM},consumer="c"'
# A sample each 15 s: fifteen minutes of successes, four of failures, then successes again. As in
# the exporter, the counters stand still for three minutes, then end, and come back with all.
FETCHED: Final = "0+{rise}x60 {last}+0x11 stale _x3 {back}+{rise}x110"
BEFORE, FROZEN, ABSENT, JUST_BACK, LATER = "15m", "18m", "18m45s", "22m", "27m"
# At its start and its end all is counted: the gap is inside.
GAP_INSIDE, GAP_AT_THE_START = "20m", "36m"


def counter(rise: int) -> str:
    return FETCHED.format(rise=rise, last=60 * rise, back=77 * rise)


GAUGE: Final = "1+0x120 stale _x5 1+0x60"
STEADY: Final = "0+100x120 stale _x5 12700+100x60"
SERIES: Final = {
    f'streamgauge_request_success{{{WHO},request="{SELDOM_REQUEST}"}}': "1+0x60 0+0x16 1+0x110",
    f'streamgauge_request_success{{{WHO},request="jsz"}}': "1+0x190",
    f"streamgauge_up{{{WHO}}}": "1+0x190",
    # After half an hour, a minute and a half without any series.
    f"streamgauge_stream_up{{{STREAM}}}": GAUGE,
    f"streamgauge_consumer_up{{{CONSUMER}}}": GAUGE,
    f"streamgauge_stream_publishes_received_total{{{STREAM}}}": counter(150),
    f"streamgauge_stream_publishes_unstored_total{{{STREAM}}}": counter(50),
    f"streamgauge_stream_stored_messages_total{{{STREAM}}}": STEADY,
    f'streamgauge_stream_publish_rejections_total{{{STREAM},code="10071"}}': "0+50x190",
    f"streamgauge_consumer_acks_total{{{CONSUMER}}}": counter(100),
    f"streamgauge_consumer_deliveries_total{{{CONSUMER}}}": STEADY,
}
# Board, panel, number of its query, and its value where both sides are known.
RATIOS: Final = [
    ("sg-publish", "Received", 0, 10),
    ("sg-publish", "Not stored", 0, 1 / 3),
    ("sg-publish", "Received against stored", 0, 10),
    ("sg-publish", "Received against stored", 1, 100 / 15),
    ("sg-publish", "Received against stored", 2, 50 / 15),
    ("sg-publish", "Not stored, by stream", 0, 1 / 3),
    ("sg-publish", "Wrong expectations", 0, 1 / 3),
    ("sg-consumer", "Replies per delivery", 0, 1),
]


@pytest.fixture(scope="module")
def promtool() -> Path:
    return found_promtool()


def test_the_request_has_the_name_that_the_exporter_gives_it() -> None:
    assert SELDOM_REQUEST == REQUEST


@pytest.mark.parametrize(("board", "title", "number", "value"), RATIOS)
def test_a_ratio_is_shown_only_where_both_sides_cover_the_window(
    promtool: Path, tmp_path: Path, board: str, title: str, number: int, value: float
) -> None:
    expr = query(board, title, number)
    known = [(expr, at, value) for at in (BEFORE, GAP_INSIDE, LATER)]
    unknown = [(expr, at, None) for at in (FROZEN, ABSENT, JUST_BACK, GAP_AT_THE_START)]
    assert failures(promtool, tmp_path, [*known, *unknown], SERIES) == ""


@pytest.mark.parametrize(("tap", "value"), [("1", 0.0), ("0", None)])
def test_without_a_rejection_there_are_none_only_where_they_are_counted(
    promtool: Path, tmp_path: Path, tap: str, value: float | None
) -> None:
    expr = query("sg-publish", "Rejections", 0).replace("rejections_total", "rejections_absent")
    series = {f"streamgauge_publish_ack_tap_active{{{WHO}}}": f"{tap}+0x140"}
    assert failures(promtool, tmp_path, [(expr, BEFORE, value)], series) == ""


@pytest.mark.parametrize("board", ["sg-fleet", "sg-exporter"])
def test_a_failed_request_is_not_a_complete_poll(
    promtool: Path, tmp_path: Path, board: str
) -> None:
    expr = query(board, "Complete polls", 0)
    cases = [(expr, BEFORE, 1.0), (expr, FROZEN, 0.0), (expr, LATER, 1.0)]
    assert failures(promtool, tmp_path, cases, SERIES) == ""
