"""Compares forecasts with predict_linear and AutoETS on generated series.

Figures are printed, not asserted. The authors of the models made the series: expect a bias.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bench.forecast.outcome import COVERED, Outcome, f1, of_ours, of_peer, share
from bench.forecast.peers import by_auto_ets, by_line, has_auto_ets
from bench.forecast.series import Series, series_set
from bench.table import show
from spark_rollups.forecasting.models.daily_levels import DAY

# Nothing was chosen on these.
SEEDS = (104003, 115021, 126013)
OURS, LINE, ETS = "best by own backtest", "predict_linear over 28 d", "AutoETS"
_F1, _F1_LEAD = 0.80, 0.08
_COVERAGE, _BEFORE, _LATE_EDGE = (0.77, 0.84), (0.45, 0.55), 0.08
# Kinds whose error must not exceed that of AutoETS.
_WEAK = ("saturating", "max_age", "max_age, load grows", "sawtooth", "sawtooth by retention")
# Young series have fewer backtest origins: 25 days have two, 75 have all twelve.
_YOUNG_DAYS = (25, 30, 45)

Results = dict[str, list[Outcome]]  # by method


def compare(count: int, seeds: list[int], young: bool) -> None:
    every = {seed: series_set(count, seed) for seed in seeds}
    results = {}
    for seed in seeds:
        results[seed] = _results(every[seed])
        _show_methods(count, seed, results[seed])
    together = {
        name: [each for found in results.values() for each in found[name]]
        for name in results[seeds[0]]
    }
    _show_bars(results, together)
    _show_kinds(together)
    if young:
        _show_young([series for found in every.values() for series in found])


def _results(every: list[Series]) -> Results:
    found: Results = {LINE: [of_peer(series, by_line(series)) for series in every]}
    if has_auto_ets():
        found[ETS] = _each(every, lambda series: of_peer(series, by_auto_ets(series)))
    found[OURS] = _each(every, of_ours)
    return found


def _each(every: list[Series], of: Callable[[Series], Outcome | None]) -> list[Outcome]:
    found = []
    for number, series in enumerate(every, 1):
        if (outcome := of(series)) is not None:
            found.append(outcome)
        if sys.stderr.isatty():
            end = "" if number < len(every) else "\r"
            print(f"\r  {number}/{len(every)} series", end=end, file=sys.stderr, flush=True)
    return found


def _show_methods(count: int, seed: int, results: Results) -> None:
    rows = [
        (
            name, f"{np.median([each.error for each in found]):.1%}", f"{f1(found):.3f}",
            f"{f1(found, lambda each: (each.warned_high, each.came_high)):.3f}",
            f"{1000 * np.mean([each.seconds for each in found]):.2f}",
        )
        for name, found in results.items()
    ]  # fmt: skip
    if ETS not in results:
        rows.append((ETS, "not present", "", "", ""))
    header = ("method", "median error", "F1", "F1, high limits", "ms per series")
    kinds = len({each.kind for each in results[LINE]})
    show(f"{count} series of {kinds} kinds, seed {seed}, limit within 30 days", header, rows)


def _show_bars(results: dict[int, Results], together: Results) -> None:
    rows: list[tuple[str, ...]] = []
    for seed, found in results.items():
        ours, peers = f1(found[OURS]), [f1(found[name]) for name in (LINE, ETS) if name in found]
        bar = max(_F1, max(peers) + _F1_LEAD)
        rows.append((f"F1, seed {seed}", f"{ours:.3f}", f">= {bar:.3f}", _verdict(ours >= bar)))
    ours_together = together[OURS]
    for place, days in enumerate(COVERED):
        covered = share([each.covered[place] for each in ours_together])
        rows.append(_within(f"80 % interval covers, {days} d", covered, _COVERAGE))
    dated = [each for each in ours_together if each.before is not None]
    before = share([bool(each.before) for each in dated])
    rows.append(_within("limit came before the likely date", before, _BEFORE))
    came = share([bool(each.before) for each in dated if each.came_at_all])
    rows.append(_within("the same, if it came within 90 d", came, _BEFORE))
    late = share([each.at_late_edge for each in dated])
    bar_text, verdict = f"<= {_LATE_EDGE:.0%}", _verdict(late <= _LATE_EDGE)
    rows.append(("likely date in the last twentieth", f"{late:.1%}", bar_text, verdict))
    early = share([each.at_early_edge for each in dated])
    rows.append(("likely date in the first twentieth", f"{early:.1%}", "none", ""))
    show("bars, all seeds", ("", "is", "bar", ""), rows)


def _within(name: str, value: float, bar: tuple[float, float]) -> tuple[str, ...]:
    low, high = bar
    return (name, f"{value:.1%}", f"{low:.0%} to {high:.0%}", _verdict(low <= value <= high))


def _verdict(holds: bool) -> str:
    return "met" if holds else "MISSED"


def _show_kinds(together: Results) -> None:
    rows = []
    for kind in dict.fromkeys(each.kind for each in together[OURS]):
        of_kind = {
            name: [each for each in found if each.kind == kind] for name, found in together.items()
        }
        ours = of_kind[OURS]
        errors = {
            name: float(np.median([each.error for each in found]))
            for name, found in of_kind.items()
        }
        hits = Counter((each.warned, each.came) for each in ours)
        bar = _verdict(errors[OURS] <= errors[ETS]) if kind in _WEAK and ETS in errors else ""
        rows.append((
            kind, f"{errors[OURS]:.1%}", f"{errors[ETS]:.1%}" if ETS in errors else "-", bar,
            f"{hits[True, True]}/{hits[True, False]}/{hits[False, True]}",
            f"{share([each.covered[0] for each in ours]):.0%}",
        ))  # fmt: skip
    header = ("by kind", "error", ETS, "bar", "right/false/missed", "covered")
    show("all seeds, 30 days ahead", header, rows)


def _show_young(every: list[Series]) -> None:
    """The same series with only the last days known."""
    rows = []
    for days in _YOUNG_DAYS:
        found = _each([_last_days(series, days) for series in every], of_ours)
        shares = (share([each.covered[place] for each in found]) for place in range(len(COVERED)))
        rows.append((f"{days} days", str(len(found)), *(f"{each:.0%}" for each in shares)))
    header = ("known", "series", *(f"{ahead} d ahead" for ahead in COVERED))
    show("what the 80 % interval covers in young series (no bar)", header, rows)


def _last_days(series: Series, days: int) -> Series:
    kept = series.times > series.times[-1] - days * DAY
    return replace(series, times=series.times[kept], values=series.values[kept])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench forecast", description=__doc__)
    parser.add_argument("--series", type=int, default=480, help="how many a seed (default 480)")
    parser.add_argument("--seed", type=int, nargs="+", default=list(SEEDS), help=f"default {SEEDS}")
    parser.add_argument("--young", action="store_true", help="also with few days known")
    arguments = parser.parse_args()
    compare(arguments.series, arguments.seed, arguments.young)


if __name__ == "__main__":
    main()
