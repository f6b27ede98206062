"""The states that boards show, in the real promtool: never ok where a condition or a ticket holds."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from support.promtool.board_queries import failures, found_promtool, query

from dashboards.panels.colours import CRITICAL, WARNED
from exporter.signals.verdict import Verdict

WHO: Final = 'job="j",instance="i",system="s"'
OF: Final = 'account="A",stream="S",consumer="c"'
AT: Final = "10m"
STATES: Final = [
    ("sg-fleet", "Consumers"),
    ("sg-consumer", "Verdict"),
    ("sg-consumer", "Verdict over time"),
    ("sg-stream", "Verdict per consumer"),
]


@pytest.fixture(scope="module")
def promtool() -> Path:
    return found_promtool()


def given(verdict: Verdict, conditions: tuple[str, ...], alert: str) -> dict[str, str]:
    start = f"streamgauge_consumer_condition_start_timestamp_seconds{{{WHO},{OF}"
    firing = f'alertname="JetStreamX",alertstate="firing",severity="{alert}",system="s",{OF}'
    return {
        f"streamgauge_consumer_up{{{WHO},{OF}}}": "1+0x80",
        f"streamgauge_consumer_verdict{{{WHO},{OF}}}": f"{verdict:d}+0x80",
        f"streamgauge:consumer_lag_seconds:worst10{{{WHO},{OF}}}": "1+0x80",
        **{f'{start},condition="{each}"}}': "60+0x80" for each in conditions},
        **({f"ALERTS{{{firing}}}": "1+0x80"} if alert else {}),
    }


@pytest.mark.parametrize(("board", "title"), STATES)
@pytest.mark.parametrize(
    ("verdict", "conditions", "alert", "shown"),
    [
        (Verdict.OK, (), "", Verdict.OK),
        (Verdict.OK, (), "info", Verdict.OK),
        (Verdict.OK, ("redelivery_high",), "", WARNED),
        (Verdict.IDLE, ("messages_abandoned", "long_jobs"), "", WARNED),
        (Verdict.PAUSED, ("paused_backlog",), "", Verdict.PAUSED),
        (Verdict.PAUSED, ("losing_messages",), "", CRITICAL),
        (Verdict.OK, (), "warning", WARNED),
        (Verdict.OK, ("redelivery_high",), "critical", CRITICAL),
        (Verdict.LONG_JOBS, ("long_jobs",), "", Verdict.LONG_JOBS),
        (Verdict.LONG_JOBS, ("long_jobs", "acks_late"), "", WARNED),
        (Verdict.STALLED, ("stalled", "falling_behind"), "warning", Verdict.STALLED),
    ],
)
def test_a_state_is_the_verdict_only_where_nothing_else_is_wrong(
    promtool: Path, tmp_path: Path, board: str, title: str,
    verdict: Verdict, conditions: tuple[str, ...], alert: str, shown: int,
) -> None:  # fmt: skip
    cases: list[tuple[str, str, float | None]] = [(query(board, title, 0), AT, shown)]
    assert failures(promtool, tmp_path, cases, given(verdict, conditions, alert)) == ""


@pytest.mark.parametrize(
    ("conditions", "alert", "level"),
    [((), "", 0), (("long_jobs",), "", 1), (("nak_loop", "long_jobs"), "", 2), (("nak_loop",), "critical", 3)],
)  # fmt: skip
def test_the_consumers_of_the_fleet_are_sorted_by_their_gravest_condition(
    promtool: Path, tmp_path: Path, conditions: tuple[str, ...], alert: str, level: int
) -> None:
    cases: list[tuple[str, str, float | None]] = [(query("sg-fleet", "Consumers", -1), AT, level)]
    assert failures(promtool, tmp_path, cases, given(Verdict.OK, conditions, alert)) == ""


def test_of_many_conditions_the_gravest_and_then_the_oldest_are_shown(
    promtool: Path, tmp_path: Path
) -> None:
    """Sixty of one kind, of which the newest are left out; a page that is newer than all of them."""
    start = "streamgauge_{}_condition_start_timestamp_seconds{{" + WHO + ",{}}}"
    many = {
        start.format("consumer", f'account="A",stream="S",consumer="c{n}",condition="nak_loop"'): (
            f"{100 + n}+0x80"
        )
        for n in range(60)
    }
    page = start.format("stream", 'account="A",stream="S",condition="full"')
    note = start.format("consumer", 'account="A",stream="S",consumer="n",condition="long_jobs"')
    server = start.format("server", 'server="n1",condition="down"')
    series = {**many, page: "500.5+0x80", note: "1+0x80", server: "50+0x80"}
    levels, since = (query("sg-fleet", "What is wrong", number) for number in (0, 1))
    assert failures(
        promtool,
        tmp_path,
        [
            (f"count({since})", AT, 50),
            (f"max({levels})", AT, 3),
            (f"count({levels} == 2)", AT, 49),
            (f"count({levels} < 2)", AT, None),
            # In milliseconds.
            (f'max by (runbook) ({since}) and on (runbook) ({levels} == 3)', AT, 500_500),
            (f'min({since})', AT, 50_000),
            (f"max({since} < 400000)", AT, 147_000),
        ],
        series,
    ) == ""  # fmt: skip
