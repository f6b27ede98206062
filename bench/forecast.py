"""Compares forecasts with predict_linear of Prometheus on generated series, 30 days ahead.

Figures are printed, not asserted. The authors of the models made the series: expect a bias.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from bench.forecast_series import DAY_HOURS, Series, series_set
from bench.table import show
from spark_rollups.forecasting.models.daily_levels import DAY, points_of
from spark_rollups.forecasting.models.forecast import forecast
from spark_rollups.forecasting.models.predict_linear import WINDOWS, predict_linear
from spark_rollups.forecasting.models.result import HORIZONS, Forecast

_AHEAD = 30
_F1_LEAD = 0.10
_COVERAGE = (0.75, 0.85)
# Young series have fewer backtest origins: 25 days have two, 45 have all six.
_YOUNG_DAYS = (25, 30, 37, 45)


@dataclass
class Judged:
    """The results of one method on all series."""

    errors: list[float] = field(default_factory=list)
    hits: Counter[tuple[bool, bool]] = field(default_factory=Counter)  # (predicted, actual)
    seconds: float = 0.0

    def add(self, series: Series, level: float, reached: bool) -> None:
        truth = float(series.future[_AHEAD * DAY_HOURS - 1])
        self.errors.append(abs(level - truth) / truth)
        self.hits[reached, _came(series)] += 1

    @property
    def f1(self) -> float:
        right, wrong = self.hits[True, True], self.hits[True, False] + self.hits[False, True]
        return 2 * right / (2 * right + wrong) if right + wrong else 1.0

    def row(self, name: str) -> tuple[str, ...]:
        milliseconds = 1000 * self.seconds / len(self.errors)
        return (name, f"{np.median(self.errors):.1%}", f"{self.f1:.3f}", f"{milliseconds:.2f}")


def _came(series: Series) -> bool:
    return bool(series.future[: _AHEAD * DAY_HOURS].max() >= series.limit)


def compare(count: int, seed: int) -> None:
    every = series_set(count, seed)
    lines = {window: _by_line(every, window) for window in WINDOWS}
    ours, forecasts = _by_forecast(every)
    show(
        f"forecast: {count} series of {len(_kinds(every))} kinds, seed {seed}, 30 days ahead",
        ("method", "median error", "F1 full in 30 d", "ms per series"),
        [lines[window].row(f"predict_linear over {window} d") for window in WINDOWS]
        + [ours.row("best of five by own backtest")],
    )
    _show_bars(max(line.f1 for line in lines.values()), ours, every, forecasts)
    _show_kinds(every, forecasts)
    _show_young(every)
    _show_high_limits([replace(series, limit=series.high_limit) for series in every])


def _show_high_limits(every: list[Series]) -> None:
    """Harder: limits that no cycle has exceeded recently."""
    rows = [(f"predict_linear over {w} d", f"{_by_line(every, w).f1:.3f}") for w in WINDOWS]
    rows.append(("best of five by own backtest", f"{_by_forecast(every)[0].f1:.3f}"))
    show("the same with limits above the last fortnight's high (no bar)", ("", "F1"), rows)


def _show_young(every: list[Series]) -> None:
    """The same series with only the last days known."""
    rows = []
    for days in _YOUNG_DAYS:
        young = [_last_days(series, days) for series in every]
        pairs = [(s, f) for s, f in zip(young, _by_forecast(young)[1], strict=True) if f.levels]
        shares = (np.mean([_covered(*pair, ahead) for pair in pairs]) for ahead in HORIZONS)
        rows.append((f"{days} days", str(len(pairs)), *(f"{share:.1%}" for share in shares)))
    header = ("known", "series", *(f"{ahead} d ahead" for ahead in HORIZONS))
    show("what the 80 % interval covers in young series (no bar)", header, rows)


def _last_days(series: Series, days: int) -> Series:
    kept = series.times > series.times[-1] - days * DAY
    return replace(series, times=series.times[kept], values=series.values[kept])


def _by_line(every: list[Series], window: int) -> Judged:
    judged = Judged()
    for series in every:
        points = points_of(series.times, series.values)
        began = time.process_time()
        line = predict_linear(points, series.times[-1], window, np.array([float(_AHEAD)]))
        judged.seconds += time.process_time() - began
        # Without two points Prometheus has no result: assume the level stays.
        level = float(series.values[-1] if line is None else line[0])
        judged.add(series, level, level >= series.limit)
    return judged


def _by_forecast(every: list[Series]) -> tuple[Judged, list[Forecast]]:
    judged, forecasts = Judged(), []
    for number, series in enumerate(every, 1):
        began = time.process_time()
        found = forecast(series.times, series.values, series.limit)
        judged.seconds += time.process_time() - began
        forecasts.append(found)
        judged.add(series, _level(found), _warned(series, found))
        _progress(number, len(every))
    return judged, forecasts


def _level(found: Forecast) -> float:
    """The newest level if the series is too young for a forecast."""
    stays = 0.0 if found.level is None else found.level
    return next((level.median for level in found.levels if level.days == _AHEAD), stays)


def _warned(series: Series, found: Forecast) -> bool:
    date = found.exhaustion.median
    return date is not None and date <= series.times[-1] + _AHEAD * DAY


def _covered(series: Series, found: Forecast, days: int) -> bool:
    truth = series.future[days * DAY_HOURS - 1]
    level = next(level for level in found.levels if level.days == days)
    return bool(level.low <= truth <= level.high)


def _coverage(every: list[Series], forecasts: list[Forecast], days: int) -> float:
    return float(np.mean([_covered(s, f, days) for s, f in zip(every, forecasts, strict=True)]))


def _show_bars(
    best_line: float, ours: Judged, every: list[Series], forecasts: list[Forecast]
) -> None:
    bar = best_line + _F1_LEAD
    rows = [("F1", f"{ours.f1:.3f}", f">= {bar:.3f}", _verdict(ours.f1 >= bar))]
    low, high = _COVERAGE
    for days in HORIZONS:
        share = _coverage(every, forecasts, days)
        holds = _verdict(low <= share <= high)
        rows.append((f"80 % interval covers, {days} d", f"{share:.1%}", "75-85 %", holds))
    show("bars: predict_linear's best + 0.10, and the interval", ("", "is", "bar", ""), rows)


def _verdict(holds: bool) -> str:
    return "met" if holds else "MISSED"


def _show_kinds(every: list[Series], forecasts: list[Forecast]) -> None:
    rows = []
    for kind in _kinds(every):
        pairs = [(s, f) for s, f in zip(every, forecasts, strict=True) if s.kind == kind]
        judged = Judged(seconds=0.0)
        for series, found in pairs:
            judged.add(series, _level(found), _warned(series, found))
        chosen = Counter(str(found.model) for _, found in pairs).most_common(1)[0][0]
        hits = judged.hits
        rows.append((
            kind, f"{np.median(judged.errors):.1%}",
            f"{hits[True, True]}/{hits[True, False]}/{hits[False, True]}",
            f"{np.mean([_covered(s, f, _AHEAD) for s, f in pairs]):.0%}", chosen,
        ))  # fmt: skip
    header = ("by kind", "error", "right/false/missed", "covered", "most often")
    show("the best of five, 30 days ahead", header, rows)


def _kinds(every: list[Series]) -> list[str]:
    return list(dict.fromkeys(series.kind for series in every))


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r  {done}/{of} series", end="" if done < of else "\r", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.forecast", description=__doc__)
    parser.add_argument("--series", type=int, default=800, help="how many (default 800)")
    parser.add_argument("--seed", type=int, help="repeat this set (default: a fresh one)")
    arguments = parser.parse_args()
    compare(
        arguments.series, secrets.randbelow(10**6) if arguments.seed is None else arguments.seed
    )


if __name__ == "__main__":
    main()
