"""`streamgauge archive export`: writes series as OpenMetrics text."""

from __future__ import annotations

import contextlib
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from archive.progress import Progress
from archive.tables.chunk_decoder import samples_of
from archive.tables.sample_columns import Samples, run_starts
from archive.tables.schema import LATEST_TIME, SERIES, STALE_BITS
from archive.tables.series import Labels, SeriesRegistry, metric_of, read_series
from archive.tools.archive_view import View, open_view
from archive.tools.arguments import span
from archive.tools.errors import ToolError
from archive.tools.exporting.opaque import OpaqueMessages
from archive.tools.exporting.openmetrics_text import EOF, exemplar_text, sample_lines, series_text
from archive.tools.exporting.plan import ExportPlan, metric_bounds
from archive.tools.opaque_messages import Exemplar
from archive.tools.series_selector import Selector, chosen, parse_selector


def run(args: Namespace, progress: Progress) -> int:
    selectors = [parse_selector(text) for text in args.match]
    between = span(args.since, args.until, (0, LATEST_TIME + 1))
    with open_view(args.place, args.wal, progress) as view, _sink(args.output) as sink:
        done = _Export(view, selectors, between).write(sink, progress)
        if args.opaque:
            with Path(args.opaque).open("w", encoding="utf-8") as lines:
                done.opaque = done.messages.write_lines(lines)
    sys.stderr.write(f"{done}\n")
    return 0


@dataclass
class _Done:
    messages: OpaqueMessages
    samples: int = 0
    series: int = 0
    markers: int = 0
    exemplars: int = 0
    opaque: int = 0

    def __str__(self) -> str:
        text = f"exported {self.samples:,} samples of {self.series:,} series"
        left = {
            "stale markers": self.markers,
            "exemplars": sum(map(len, self.messages.exemplars.values())) - self.exemplars,
            "unreadable messages": self.messages.unreadable,
        }
        missing = ", ".join(f"{count:,} {what}" for what, count in left.items() if count)
        opaque = f", {self.opaque:,} opaque messages beside them" if self.opaque else ""
        return f"{text}{opaque}" + (f"; dropped: {missing}" if missing else "")


class _Export:
    def __init__(self, view: View, selectors: list[Selector], between: tuple[int, int]) -> None:
        self._view, self._between = view, between
        self._labels = _labels_of(view, selectors)
        registry = SeriesRegistry(view.storage, view.snapshot.files[SERIES])
        self._ranks = registry.ranks()
        by_rank = registry.by_rank()
        wanted = np.zeros(len(by_rank), np.bool_)
        wanted[self._ranks[np.array([*self._labels], np.int32)]] = True
        self._plan = ExportPlan(view.storage, self._ranks, wanted, between)
        self._names = registry.metrics(by_rank).to_pylist()
        self._done = _Done(OpaqueMessages(view.storage, view.snapshot, self._labels, between))

    def write(self, sink: TextIO, progress: Progress) -> _Done:
        self._plan.add_files(self._view.snapshot, progress)
        every = {metric_of(labels) for labels in self._labels.values()}
        with progress.work("exporting", self._plan.rows) as step:
            for metric, low, high in metric_bounds(self._names):
                header, is_counter = self._done.messages.headers(metric, every)
                for first, end, rows in self._plan.ranges(low, high):
                    sink.write(header)
                    header = ""
                    sink.writelines(self._lines(first, end, is_counter=is_counter))
                    step(rows)
        sink.write(EOF)
        return self._done

    def _lines(self, low: int, high: int, *, is_counter: bool) -> Iterator[str]:
        samples, _ = samples_of(self._plan.read(low, high))
        samples = self._within(samples)
        order = np.lexsort((samples.times, self._ranks[samples.series]))
        samples = samples.take(order)
        starts = run_starts(samples.series).tolist()
        for first, end in zip(starts, [*starts[1:], len(samples)], strict=True):
            yield from self._series_lines(samples.take(slice(first, end)), is_counter=is_counter)

    def _within(self, samples: Samples) -> Samples:
        stale = samples.bits == np.uint64(STALE_BITS)
        here = (samples.times >= self._between[0]) & (samples.times < self._between[1])
        self._done.markers += int(np.count_nonzero(stale & here))
        return samples.take(here & ~stale)

    def _series_lines(self, samples: Samples, *, is_counter: bool) -> Iterator[str]:
        series, times = int(samples.series[0]), samples.times.tolist()
        found = self._done.messages.exemplars.get(series, []) if is_counter else []
        tails = _tails(times, found)
        self._done.series += 1
        self._done.samples += len(times)
        self._done.exemplars += len(tails)
        values = samples.bits.view(np.float64).tolist()
        yield from sample_lines(series_text(self._labels[series]), times, values, tails)


def _tails(times: list[int], exemplars: list[Exemplar]) -> dict[int, str]:
    """An exemplar belongs to the first sample at or after its time; a sample has at most one."""
    tails: dict[int, str] = {}
    for exemplar in sorted(exemplars, key=lambda each: each.time):
        place = int(np.searchsorted(times, exemplar.time))
        if place < len(times):
            tails.setdefault(place, exemplar_text(exemplar.labels, exemplar.value, exemplar.time))
    return tails


def _labels_of(view: View, selectors: list[Selector]) -> dict[int, Labels]:
    table = read_series(view.storage, view.snapshot.files[SERIES], ("series", "labels"))
    columns = (table.column(name).to_pylist() for name in ("series", "labels"))
    return {
        series: tuple(labels)
        for series, labels in zip(*columns, strict=True)
        if chosen(dict(labels), selectors)
    }


@contextlib.contextmanager
def _sink(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            yield file
    except OSError as error:
        raise ToolError(f"--output: {path}: {error.strerror}") from error
