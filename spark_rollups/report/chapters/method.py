"""The chapter on method: how numbers are computed, backtest of forecasts, thresholds."""

from __future__ import annotations

from alerts import thresholds as t
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
    amount,
)
from spark_rollups.report.facts.arithmetic import known
from spark_rollups.report.facts.capacity import most_urgent_first
from spark_rollups.report.facts.forecast_check import CheckedForecast
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Chapter, Column, Row, Table

SENTENCES = (
    "Numbers come from the samples in the archive, aggregated by hour and day. A month is a calendar month "
    "in UTC.",
    "Counters are sums of increases with resets handled as in Prometheus. Totals cover the days with data; "
    "comparisons with the month before are per day with data.",
    "Worst values are the highest single samples. Shares of time add up the time until the next sample, "
    "at most five minutes each.",
    "Unknown means that nothing was measured; it never appears as 0. No limit means that the "
    "configuration sets none.",
    "A restart is a start time that moved by more than a minute; several on one day count once. Several "
    "elections between two polls count once.",
    "The forecast of each limit uses the best of seven models in a backtest on the history of the series, "
    "at up to twelve earlier days. The table shows its error beside that of predict_linear of Prometheus on the "
    "same days.",
    "Text in CSV files that starts like a formula (=, +, -, @) has an apostrophe in front, so that no "
    "spreadsheet runs it.",
)


def method_chapter(facts: Facts, checked: list[CheckedForecast]) -> Chapter:
    sentences = list(SENTENCES)
    if checked:
        inside = sum(each.inside for each in checked)
        sentences.append(
            f"Of {fmt.plural(len(checked), 'forecast')} made a month ago, {inside} were right: the level lies "
            "within the predicted range. Eight of ten should."
        )
    return Chapter(
        "method",
        "Method and backtest",
        tuple(sentences),
        (_backtest_table(facts), _checked_table(checked), _threshold_table(facts)),
        as_list=True,
    )


_IDENTITY = (Column("system", "System"), Column("account", "Account"), Column("name", "Name"))


def _identity(each: Forecast) -> tuple[str, str, str]:
    return (each.system, each.account if each.stream else "", each.name)


def _backtest_table(facts: Facts) -> Table:
    rows = [
        Row(
            (
                *_identity(each), each.limit_name, each.model or None, known(each.error),
                known(each.linear_error), float(each.days), float(each.dropped),
            ),
            _backtest_level(each),
        )
        for each in most_urgent_first(facts.forecasts)
    ]  # fmt: skip
    return Table(
        "backtest",
        "Backtest of the models on each series",
        _IDENTITY,
        (
            Column("limit_name", "Limit of"),
            Column("model", "Model"),
            Column(
                "error",
                "Error",
                Kind.SHARE,
                "mean absolute error at 30 days, as a share of the newest level",
            ),
            Column("linear_error", "predict_linear", Kind.SHARE, "its error on the same days"),
            Column("days", "Days", Kind.COUNT, "days with points"),
            Column("dropped", "Dropped", Kind.COUNT, "invalid values"),
        ),
        rows,
        note="Marked: predict_linear had a smaller error.",
        empty="There is no forecast.",
    )


def _backtest_level(each: Forecast) -> Level:
    worse = (
        each.error is not None and each.linear_error is not None and each.error > each.linear_error
    )
    return Level.WARNING if worse else Level.NORMAL


def _checked_table(checked: list[CheckedForecast]) -> Table:
    rows = [
        Row(
            (
                *_identity(each.forecast), each.forecast.limit_name, each.predicted.day,
                amount(each.predicted.low, each.forecast.is_bytes), amount(each.predicted.middle, each.forecast.is_bytes),
                amount(each.predicted.high, each.forecast.is_bytes), amount(each.actual, each.forecast.is_bytes),
                "inside" if each.inside else "outside",
            ),
            Level.NORMAL if each.inside else Level.WARNING,
        )
        for each in checked
    ]  # fmt: skip
    return Table(
        "forecast_check",
        "Forecasts of the month before, and actual levels",
        _IDENTITY,
        (
            Column("limit_name", "Limit of"),
            Column("day", "For", Kind.DAY),
            Column("low", "Low", Kind.COUNT),
            Column("middle", "Middle", Kind.COUNT),
            Column("high", "High", Kind.COUNT),
            Column("came", "Actual", Kind.COUNT),
            Column("verdict", "Range"),
        ),
        rows,
        empty="No forecast of the month before is for a day of this month.",
    )


def _threshold_table(facts: Facts) -> Table:
    rows = []
    for threshold in facts.thresholds.values():
        default = t.BY_NAME[threshold.name]
        changed = "" if threshold.value == default.value else f"instead of {default.prose}"
        rows.append(Row((threshold.name, threshold.prose, threshold.meaning, changed)))
    return Table(
        "thresholds",
        "Thresholds of alerts and report",
        (),
        (
            Column("name", "Threshold"),
            Column("value", "Value"),
            Column("meaning", "Meaning"),
            Column("changed", "Changed", shown=any(row.values[3] for row in rows)),
        ),
        rows,
    )
