"""The chapter on method: how numbers were made, how well forecasts did, and which lines were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from alerts import thresholds as t
from spark_rollups.report import formatting as words
from spark_rollups.report.cell_values import Kind, Level, known
from spark_rollups.report.chapters.capacity import amount, ordered
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.figure_data import Ahead
from spark_rollups.report.model import Chapter, Column, Row, Table

_LEAD_DAYS = 30
_PLACE = ("metric", "system", "account", "stream", "server")

SENTENCES = (
    "Numbers come from the archive's samples, rolled up by the hour and the day. A month is a calendar month "
    "in UTC.",
    "Counters add up their increases, resets left out, as Prometheus does. Totals cover the days with data; "
    "comparisons with the month before are made by covered day.",
    "Worst values are the highest single samples. Shares of time are sums of the time until the next sample, "
    "at most five minutes each.",
    "Unknown means that nothing was measured; it is never written as 0. No limit means that the "
    "configuration sets none.",
    "A restart is a start time that moved by more than a minute; several on one day count once. An election "
    "between two polls is seen once.",
    "Each limit's forecast is made by the one of five models that did best on that series' own past, at six "
    "earlier days. Its error is printed beside that of Prometheus' predict_linear on the same days; where "
    "predict_linear did better, you see it.",
    "Text in files that begins like a formula (=, +, -, @) has an apostrophe before it, so that no "
    "spreadsheet runs it.",
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What was said a month ago for a day of this month, and what came."""

    forecast: Forecast
    said: Ahead
    came: float

    @property
    def inside(self) -> bool:
        return self.said.low <= self.came <= self.said.high


def checked_forecasts(facts: Facts) -> list[Checked]:
    """Forecasts of 30 days that have come due within the days of this month."""
    ahead = ((each, each.at(_LEAD_DAYS)) for each in facts.forecasts_before)
    due = [(each, said) for each, said in ahead if said is not None and said.day in facts.days]
    metrics = sorted({each.metric for each, _ in due})
    # One reading for all: with thousands of limits, one for each would take minutes.
    came = {day: _levels_on(facts, day, metrics) for day in {said.day for _, said in due}}
    found = ((each, said, came[said.day].get(_place(each))) for each, said in due)
    return [Checked(each, said, level) for each, said, level in found if level is not None]


def _levels_on(facts: Facts, day: date, metrics: Sequence[str]) -> dict[tuple[str, ...], float]:
    """By metric, place and tier, at the end of the day."""
    columns = [*_PLACE, "labels", "last"]
    rows = facts.source.table("daily", day, day, columns=columns, metrics=metrics).to_pylist()
    found: dict[tuple[str, ...], float] = {}
    for row in rows:
        if row["last"] is not None:
            where = (*(row[name] for name in _PLACE), dict(row["labels"]).get("tier", ""))
            found.setdefault(where, row["last"])
    return found


def _place(each: Forecast) -> tuple[str, ...]:
    return (each.metric, each.system, each.account, each.stream, each.server, each.tier)


def method_chapter(facts: Facts, checked: list[Checked]) -> Chapter:
    said = list(SENTENCES)
    if checked:
        inside = sum(each.inside for each in checked)
        said.append(
            f"Of {words.plural(len(checked), 'forecast')} made a month ago, {inside} held: the level lies "
            "within the range that was told. Eight of ten should."
        )
    return Chapter(
        "method",
        "Method and backtest",
        tuple(said),
        (_backtest_table(facts), _checked_table(checked), _threshold_table(facts)),
        as_list=True,
    )


_WHO = (Column("system", "System"), Column("account", "Account"), Column("name", "Name"))


def _who(each: Forecast) -> tuple[str, str, str]:
    return (each.system, each.account if each.stream else "", each.name)


def _backtest_table(facts: Facts) -> Table:
    rows = [
        Row(
            (
                *_who(each), each.limit_name, each.model or None, known(each.error),
                known(each.linear_error), float(each.days), float(each.dropped),
            ),
            _judged(each),
        )
        for each in ordered(facts.forecasts)
    ]  # fmt: skip
    return Table(
        "backtest",
        "How the models did on each series' own past",
        _WHO,
        (
            Column("limit_name", "Limit of"),
            Column("model", "Model"),
            Column(
                "error", "Error", Kind.SHARE, "mean absolute error at 30 days, of the newest level"
            ),
            Column("linear_error", "predict_linear", Kind.SHARE, "its error on the same days"),
            Column("days", "Days", Kind.COUNT, "days with points"),
            Column("dropped", "Left out", Kind.COUNT, "impossible values"),
        ),
        rows,
        note="Marked: predict_linear did better there.",
        empty="No forecast was made.",
    )


def _judged(each: Forecast) -> Level:
    worse = (
        each.error is not None and each.linear_error is not None and each.error > each.linear_error
    )
    return Level.LOOK if worse else Level.CALM


def _checked_table(checked: list[Checked]) -> Table:
    rows = [
        Row(
            (
                *_who(each.forecast), each.forecast.limit_name, each.said.day,
                amount(each.forecast, each.said.low), amount(each.forecast, each.said.middle),
                amount(each.forecast, each.said.high), amount(each.forecast, each.came),
                "held" if each.inside else "did not hold",
            ),
            Level.CALM if each.inside else Level.LOOK,
        )
        for each in checked
    ]  # fmt: skip
    return Table(
        "forecast_check",
        "What was said a month ago, and what came",
        _WHO,
        (
            Column("limit_name", "Limit of"),
            Column("day", "For", Kind.DAY),
            Column("low", "Low", Kind.COUNT),
            Column("middle", "Middle", Kind.COUNT),
            Column("high", "High", Kind.COUNT),
            Column("came", "Came", Kind.COUNT),
            Column("verdict", "The range"),
        ),
        rows,
        empty="No forecast of the month before has come due.",
    )


def _threshold_table(facts: Facts) -> Table:
    rows = []
    for threshold in facts.thresholds.values():
        default = t.BY_NAME[threshold.name]
        changed = "" if threshold.value == default.value else f"instead of {default.prose}"
        rows.append(Row((threshold.name, threshold.prose, threshold.meaning, changed)))
    return Table(
        "thresholds",
        "The lines of alerts and report",
        (),
        (
            Column("name", "Threshold"),
            Column("value", "Value"),
            Column("meaning", "Meaning"),
            Column("changed", "Changed", shown=any(row.values[3] for row in rows)),
        ),
        rows,
    )
