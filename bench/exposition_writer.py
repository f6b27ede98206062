"""Speed of the exposition writer compared with prometheus-client, in one run.

Run from the root of the repository: python -m bench.exposition_writer
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from exporter import catalog
from exporter.exposition.gzip_segments import LEVEL, SegmentWriter
from exporter.exposition.text_format import (
    Block,
    Column,
    Format,
    assemble,
    label_head,
    render_block,
    write_lines,
)
from exporter.metric import Kind, Level, Metric, Subject, Unit

BAR = 2_000_000  # lines per second that the writer must reach
CONSUMERS_PER_STREAM = 10
TEAMS = ("billing", "mail", "audit", "search")
Labels = tuple[str, str, str, str]
Values = list[int | float | None]

chance = random.Random(20)  # noqa: S311  the same numbers in every run


def core_metrics() -> list[Metric]:
    """The families that an exporter at its default level writes for each consumer."""
    return [
        metric
        for metric in catalog.ALL
        if metric.subject is Subject.CONSUMER
        and metric.level is Level.CORE
        and metric.labels == catalog.CONSUMER
    ]


def consumer_labels(count: int) -> list[Labels]:
    return [
        (
            "production",
            f"ACCOUNT{number // 20_000}",
            f"orders-{number // CONSUMERS_PER_STREAM:05}",
            f"{chance.choice(TEAMS)}-worker-{number % CONSUMERS_PER_STREAM}",
        )
        for number in range(count)
    ]


def value_for(metric: Metric) -> int | float | None:
    """Times and ratios are floats; one gauge in twenty is absent."""
    if metric.unit in (Unit.SECONDS, Unit.RATIO):
        return chance.choice((0.0, 30.0, chance.uniform(0, 4_000)))
    if metric.kind is Kind.GAUGE and chance.random() < 0.05:
        return None
    return chance.choice((0, 0, 17, chance.randrange(10**6), chance.randrange(10**10)))


def fastest(work: Callable[[], int], repeats: int) -> tuple[int, float]:
    """The count that the work returns, and its best time: the machine may be shared."""
    times: list[float] = []
    counted = 0
    for _ in range(repeats):
        began = time.perf_counter()
        counted = work()
        times.append(time.perf_counter() - began)
    return counted, min(times)


def count_lines(columns: Iterable[Column]) -> int:
    return sum(chunk.count(b"\n") for column in columns for chunk in write_lines(column))


def render(columns: Iterable[Column]) -> list[Block]:
    return [block for block in map(render_block, columns) if block is not None]


class Prepared(Collector):
    """Hands the library finished families, so that only its writing is measured."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> list[Family]:
        return self._families


def peer_family(metric: Metric, labels: Sequence[Labels], values: Values) -> Family:
    make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = make(metric.name, metric.help, labels=metric.labels)
    for names, value in zip(labels, values, strict=True):
        if value is not None:
            family.add_metric(names, value)
    return family


def peer_lines(registry: CollectorRegistry) -> int:
    return sum(not line.startswith(b"#") for line in generate_latest(registry).splitlines())


def peer_registry(data: list[tuple[Metric, Values]], labels: Sequence[Labels]) -> CollectorRegistry:
    registry = CollectorRegistry()
    few = len(labels)
    registry.register(Prepared([peer_family(one, labels, values[:few]) for one, values in data]))
    return registry


def compressed_size(text: bytes, level: int) -> int:
    writer = SegmentWriter(level)
    writer.write(text)
    return len(writer.finish().data)


def print_writers(writers: dict[str, Callable[[], int]], repeats: int) -> None:
    """Compares all other rows with the first."""
    print(f"{'writer':36}{'lines':>12}{'seconds':>10}{'lines/s':>14}{'ratio':>8}")
    base = 0.0
    for name, work in writers.items():
        lines, seconds = fastest(work, repeats)
        rate = lines / seconds
        base = base or rate
        print(f"{name:36}{lines:12,}{seconds:10.3f}{rate:14,.0f}{rate / base:8.1f}")


def print_scrape(blocks: list[Block], repeats: int) -> None:
    size, seconds = fastest(lambda: len(assemble([blocks], b"", Format.TEXT).gzip_body()), repeats)
    plain = assemble([blocks], b"", Format.TEXT).size
    print(f"\none scrape, gzip: {seconds * 1e3:.1f} ms for {size / 1e6:.1f} MB", end="")
    print(f" ({plain / 1e6:.0f} MB plain)")


def print_levels(text: bytes, repeats: int) -> None:
    print(f"\n{'compression level':20}{'MB/s':>8}{'times smaller':>16}")
    for level in range(4):
        size, seconds = fastest(partial(compressed_size, text, level), repeats)
        ours = "  ours" if level == LEVEL else ""
        print(f"{level:<20}{len(text) / seconds / 1e6:8.0f}{len(text) / size:16.1f}{ours}")


def main(argv: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--consumers", type=int, default=100_000)
    options.add_argument("--peer-consumers", type=int, default=1_000)
    options.add_argument("--repeats", type=int, default=5)
    chosen = options.parse_args(argv)

    labels = consumer_labels(chosen.consumers)
    heads = [label_head(catalog.CONSUMER, one) for one in labels]
    data = [(metric, [value_for(metric) for _ in labels]) for metric in core_metrics()]
    columns = [Column(metric, heads, values) for metric, values in data]
    registry = peer_registry(data, labels[: chosen.peer_consumers])
    writers: dict[str, Callable[[], int]] = {
        "prometheus-client generate_latest": partial(peer_lines, registry),
        f"ours, lines (bar {BAR:,})": partial(count_lines, columns),
        "ours, lines and compression": lambda: sum(block.lines for block in render(columns)),
    }
    print_writers(writers, chosen.repeats)
    print_scrape(render(columns), chosen.repeats)
    print_levels(b"".join(chain.from_iterable(map(write_lines, columns))), chosen.repeats)


if __name__ == "__main__":
    main()
