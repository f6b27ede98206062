"""Actions: in the order of their dates, one per cause, with who, why then and what if not."""

from datetime import date
from typing import Any, Final

import pytest
from support.rollups.literal_rollups import LiteralRollups
from support.rollups.report_month import (
    BOTH,
    CONSUMER,
    DATES,
    DAY,
    GIB,
    LAST,
    MADE,
    MONTH,
    NOVEMBER,
    STREAM,
    forecast,
    healthy,
    report_of,
)

from exporter import catalog as c
from spark_rollups.report.actions import Action
from spark_rollups.report.delivery import OwnerRule, ReportSettings
from spark_rollups.report.main import build_report

STUCK: Final = c.VERDICTS.index("ack-pending full")


def actions(rollups: LiteralRollups) -> list[Action]:
    return list(report_of(rollups).actions)


def without(rollups: LiteralRollups, metric: c.Metric) -> None:
    rollups.rows["daily"] = [row for row in rollups.rows["daily"] if row["metric"] != metric.name]


def behind(rollups: LiteralRollups, growing: bool, verdict: int = 3) -> None:
    """A consumer days behind at the end of the month."""
    without(rollups, c.CONSUMER_LAG_SECONDS)
    lag = (lambda day: day * 4 * 3600.0) if growing else (lambda day: (60 - day) * 3600.0)
    rollups.gauge(c.CONSUMER_LAG_SECONDS, NOVEMBER, lag, **CONSUMER)
    rollups.gauge(c.CONSUMER_VERDICT, NOVEMBER, verdict, **CONSUMER)
    rollups.rows["states"].clear()
    rollups.states(c.CONSUMER_VERDICT, NOVEMBER, {verdict: DAY}, **CONSUMER)


def server(rollups: LiteralRollups, name: str, day: date, **changes: Any) -> None:
    rollups.gauge(c.SERVER_UP, BOTH, 1, server=name)
    rollups.gauge(c.SERVER_STORAGE_USED_BYTES, BOTH, 60 * GIB, server=name)
    rollups.gauge(c.SERVER_STORAGE_MAX_BYTES, BOTH, 100 * GIB, server=name)
    labels = {
        "subject": "server", "metric": c.SERVER_STORAGE_USED_BYTES.name, "account": "", "stream": "",
        "server": name, "limit_name": "storage", "limit": 100 * GIB, "level": 60 * GIB,
    }  # fmt: skip
    dates = {"outlook": "act", "earliest": day, "likely": day, "not_before": None}
    rollups.forecast(LAST, **forecast(**{**labels, **dates, **changes}))


def test_a_good_month_has_no_action() -> None:
    assert actions(healthy()) == []


def test_actions_are_in_the_order_of_their_dates_and_today_is_first() -> None:
    rollups = healthy()
    rollups.asof.clear()
    rollups.forecast(LAST, **forecast(**DATES))
    server(rollups, "n2", date(2026, 12, 12))
    behind(rollups, growing=True)
    rollups.counter(c.STREAM_RECREATED, NOVEMBER, lambda day: day == 4, **STREAM)
    found = actions(rollups)
    assert [each.by for each in found] == [
        None, date(2026, 12, 5), date(2026, 12, 13), date(2026, 12, 30),
    ]  # fmt: skip
    assert [each.due.replace("\u00a0", " ") for each in found][:2] == ["today", "by 5 Dec 2026"]


def test_a_consumer_days_behind_and_growing_is_due_today() -> None:
    rollups = healthy()
    behind(rollups, growing=True)
    (action,) = actions(rollups)
    assert action.by is None
    assert action.what == "Fix consumer billing of ORDERS: falling behind, its lag is still growing"
    assert "4\u00a0d 20\u00a0h behind" in action.why
    assert action.commands[0] == "nats consumer info ORDERS billing"
    assert "until limits remove messages" in action.otherwise


def test_a_consumer_that_catches_up_is_due_within_a_week() -> None:
    rollups = healthy()
    behind(rollups, growing=False)
    (action,) = actions(rollups)
    assert action.by == date(2026, 12, 7)


def test_a_stuck_consumer_is_due_today_whatever_its_lag() -> None:
    rollups = healthy()
    behind(rollups, growing=False, verdict=STUCK)
    (action,) = actions(rollups)
    assert (action.by, action.what) == (None, "Fix consumer billing of ORDERS: ack-pending full")


@pytest.mark.parametrize("span", [NOVEMBER, BOTH])
@pytest.mark.parametrize(
    ("verdict", "lag", "by"),
    [
        (STUCK, 80_000.0, None),
        (STUCK, None, None),
        (3, 80_000.0, date(2026, 12, 7)),
        (3, None, date(2026, 12, 7)),
    ],
)
def test_a_consumer_that_is_unwell_on_the_last_day_alone_is_never_missing(
    span: list[date], verdict: int, lag: float | None, by: date | None
) -> None:
    """A day is less than 5 % of the month; a new consumer has no month to compare with."""
    rollups = healthy()
    new, last = {**STREAM, "consumer": "fresh"}, len(span) - 1
    rollups.gauge(c.CONSUMER_UP, span, 1, **new)
    rollups.gauge(c.CONSUMER_VERDICT, span, lambda day: verdict if day == last else 0, **new)
    if lag is not None:
        rollups.gauge(c.CONSUMER_LAG_SECONDS, span, lambda day: lag if day == last else 1.0, **new)
    rollups.states(c.CONSUMER_VERDICT, span[:-1], {0: DAY}, **new)
    rollups.states(c.CONSUMER_VERDICT, span[-1:], {verdict: DAY}, **new)
    report = report_of(rollups)
    (action,) = report.actions
    assert (action.by, action.findings[0].subject.consumer) == (by, "fresh")
    assert c.VERDICTS[verdict] in action.what
    assert "nothing needs attention" not in report.front.headline


def test_a_short_lag_at_the_end_is_no_action() -> None:
    rollups = healthy()
    rollups.gauge(c.CONSUMER_VERDICT, NOVEMBER, lambda day: 3 if day == 29 else 0, **CONSUMER)
    assert actions(rollups) == []


def test_a_state_that_began_after_the_last_known_time_is_named() -> None:
    rollups = healthy()
    rollups.gauge(c.CONSUMER_VERDICT, NOVEMBER, STUCK, **CONSUMER)
    (finding,) = actions(rollups)[0].findings
    assert finding.summary == "Consumer billing of ORDERS is not well: ack-pending full."


def test_all_findings_of_a_consumer_are_one_action() -> None:
    rollups = healthy()
    behind(rollups, growing=True)
    without(rollups, c.CONSUMER_REDELIVERIES)
    rollups.counter(c.CONSUMER_REDELIVERIES, NOVEMBER, 40_000, **CONSUMER)
    (action,) = actions(rollups)
    assert [each.code for each in action.findings] == ["CON-NOT-WELL", "CON-REDELIVERY-HIGH"]


def test_servers_that_fill_together_are_one_action_and_a_later_one_is_another() -> None:
    rollups = healthy()
    for name, day in (("a", 20), ("b", 24), ("c", 30)):
        server(rollups, name, date(2026, 12, day))
    server(rollups, "late", date(2027, 2, 20))
    first, second = actions(rollups)
    assert first.what == "Add storage to a, b and c, or one server more"
    assert second.what == "Add storage to late, or one server more"
    assert (first.by, second.by) == (date(2026, 12, 13), date(2027, 2, 13))
    assert "2 other" not in report_of(rollups).front.headline


def test_disk_and_memory_have_two_causes_also_on_one_server() -> None:
    rollups = healthy()
    server(rollups, "a", date(2026, 12, 20))
    rollups.gauge(c.SERVER_MEMORY_USED_BYTES, BOTH, 6 * GIB, server="a")
    rollups.gauge(c.SERVER_MEMORY_MAX_BYTES, BOTH, 10 * GIB, server="a")
    memory = {"metric": c.SERVER_MEMORY_USED_BYTES.name, "limit_name": "memory"}
    sizes = {"level": 6 * GIB, "limit": 10 * GIB}
    server(rollups, "a", date(2026, 12, 22), **memory, **sizes)
    disk, ram = actions(rollups)
    assert disk.what == "Add storage to a, or one server more"
    assert ram.what == "Add memory to a, or one server more"
    assert [len(each.checked) for each in (disk, ram)] == [1, 1]
    assert "6.00\u00a0GiB of 10.0\u00a0GiB" in ram.checked[0]


@pytest.mark.parametrize(("growth", "number"), [(0.1 * GIB, 1), (5.0 * GIB, 2)])
def test_a_stream_and_the_account_that_it_fills_are_one_action(growth: float, number: int) -> None:
    rollups = healthy()
    rollups.asof.clear()
    rollups.forecast(LAST, **forecast(**DATES))
    account = {
        "subject": "account", "metric": c.ACCOUNT_STORAGE_USED_BYTES.name, "stream": "",
        "limit_name": "storage", "growth_per_day": growth,
    }  # fmt: skip
    rollups.forecast(LAST, **forecast(**{**DATES, **account}))
    assert len(actions(rollups)) == number


def test_a_report_of_a_later_day_makes_passed_dates_due_today() -> None:
    rollups = healthy()
    server(rollups, "n2", date(2026, 12, 8))
    assert [each.by for each in build_report(rollups, MONTH, MADE).actions] == [None]


def test_the_owner_is_in_the_metadata_of_the_consumer_its_stream_or_the_settings() -> None:
    rollups = healthy()
    behind(rollups, growing=True)
    assert actions(rollups)[0].owner.text == "no owner set"
    rules = (
        OwnerRule(server="*1", team="machines"),
        OwnerRule(stream="ORD*", team="shop"),
        OwnerRule(team="all"),
    )
    report = build_report(rollups, MONTH, MADE, settings=ReportSettings(owners=rules))
    assert report.actions[0].owner.text == "team shop"
    without(rollups, c.STREAM_INFO)
    rollups.gauge(c.STREAM_INFO, BOTH, 1, labels={"owner_team": "orders"}, **STREAM)
    report = build_report(rollups, MONTH, MADE, settings=ReportSettings(owners=rules))
    assert report.actions[0].owner.text == "team orders"
    own = {"owner_team": "billing", "owner_name": "anna"}
    rollups.gauge(c.CONSUMER_INFO, BOTH, 1, labels=own, **CONSUMER)
    assert actions(rollups)[0].owner.text == "anna, team billing"


def test_failing_checks_are_one_action_of_each_owner_also_of_several_streams() -> None:
    rollups = healthy()
    labels = {"check": "no-dead-letter", "severity": "warn"}
    for name in ("PAY-1", "PAY-2", "ORDERS"):
        stream = {**STREAM, "stream": name}
        rollups.gauge(c.STREAM_CONFIG_FINDINGS, NOVEMBER, 1, labels=labels, **stream)
    rules = (OwnerRule(stream="PAY*", team="payments"), OwnerRule(stream="ORD*", team="shop"))
    report = build_report(rollups, MONTH, MADE, settings=ReportSettings(owners=rules))
    found = {each.owner.name: each.why for each in report.actions if each.code == "CFG-AUDIT"}
    assert set(found) == {"payments", "shop"}
    assert "2 assets (PAY-1 and PAY-2)" in found["payments"].replace("\u00a0", " ")
    assert {each.owner for each in report.findings} == {"payments", "shop"}


def test_streams_of_two_accounts_are_not_placed_in_one() -> None:
    rollups = healthy()
    for number, account in enumerate(("A", "B")):
        labels = {"check": f"check-{number}", "severity": "warn"}
        stream = {"account": account, "stream": f"S{number}"}
        rollups.gauge(c.STREAM_CONFIG_FINDINGS, NOVEMBER, 1, labels=labels, **stream)
    (action,) = actions(rollups)
    assert action.where == "S0 and S1"


def test_one_thing_is_never_better_and_worse() -> None:
    rollups = healthy()
    without(rollups, c.CONSUMER_LAG_SECONDS)
    october = [day for day in BOTH if day not in NOVEMBER]
    other = {**STREAM, "consumer": "other"}
    rollups.gauge(c.CONSUMER_UP, BOTH, 1, **other)
    rollups.gauge(c.CONSUMER_LAG_SECONDS, october, 49 * DAY, **other)
    rollups.gauge(c.CONSUMER_LAG_SECONDS, NOVEMBER, 60, **other)
    rollups.gauge(c.CONSUMER_LAG_SECONDS, october, 6, **CONSUMER)
    rollups.gauge(c.CONSUMER_LAG_SECONDS, NOVEMBER, 4 * DAY, **CONSUMER)
    front = report_of(rollups).front
    assert [line for line in front.worse if "lag" in line] == [
        "Consumer billing of ORDERS: its worst lag was 4\u00a0d on 1\u00a0Nov\u00a02026, after 6\u00a0s "
        "the month before."
    ]
    assert [line for line in front.better if "lag" in line] == []


def test_a_month_with_half_the_days_is_not_better_by_its_worst_value() -> None:
    rollups = healthy()
    without(rollups, c.CONSUMER_LAG_SECONDS)
    october = [day for day in BOTH if day not in NOVEMBER]
    rollups.gauge(c.CONSUMER_LAG_SECONDS, october, 5000, **CONSUMER)
    rollups.gauge(c.CONSUMER_LAG_SECONDS, NOVEMBER, 50, **CONSUMER)
    assert any("lag" in line for line in report_of(rollups).front.better)
    for day in NOVEMBER[5:20]:
        del rollups.covered[day]
    rollups.rows["daily"] = [row for row in rollups.rows["daily"] if row["day"] in rollups.covered]
    report = report_of(rollups)
    assert not any("lag" in line for line in report.front.better)
    assert {table.source for table in report.tables() if table.key == "streams"} == {
        "daily, 15 of 30 days"
    }


def test_lost_messages_are_due_today_even_when_the_loss_is_over() -> None:
    rollups = healthy()
    without(rollups, c.CONSUMER_LOST_MESSAGES)
    rollups.counter(
        c.CONSUMER_LOST_MESSAGES, BOTH, lambda day: 900.0 if day in (35, 36) else 0.0, **CONSUMER
    )
    behind(rollups, growing=False, verdict=0)
    report = report_of(rollups)
    (lost,) = [each for each in report.actions if each.code == "CON-MESSAGES-LOST"]
    assert lost.by is None
    assert lost.why.replace("\u00a0", " ") == (
        "At least 1,800 messages were removed by limits before consumer billing of ORDERS got them. "
        "The last loss was on 6 Nov 2026; publishers and backups have them only for a while."
    )
    (finding,) = [each for each in report.findings if each.code == "CON-MESSAGES-LOST"]
    assert finding.by == LAST


def test_who_loses_now_comes_before_who_lost() -> None:
    rollups = healthy()
    for name, lost_on in (("after", 35), ("losing", 60)):
        consumer = {**STREAM, "consumer": name}
        rollups.gauge(c.CONSUMER_UP, BOTH, 1, **consumer)
        rises = {lost_on: 10.0}
        rollups.counter(
            c.CONSUMER_LOST_MESSAGES, BOTH, lambda day, rises=rises: rises.get(day, 0.0), **consumer
        )
    assert [each.findings[0].subject.consumer for each in actions(rollups)] == ["losing", "after"]


def test_a_finding_has_the_date_of_its_action() -> None:
    rollups = healthy()
    behind(rollups, growing=True)
    report = report_of(rollups)
    dates = {each.by for each in report.findings if each.subject.consumer == "billing"}
    assert report.actions[0].by is None
    assert dates == {LAST}
