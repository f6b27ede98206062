"""The bars of the archive in one run: each figure beside the value that it must reach."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from typing import Final, NamedTuple

from bench.archive import ingest, memory, refusals, size
from bench.archive.receivers import OURS, VICTORIA, receivers
from bench.archive.remote_write_load import Load
from bench.table import show

_CONNECTIONS: Final = (1, 4)
_LABELS: Final = (8, 20)
# By samples a request and connections: on the wall and per CPU second, x VictoriaMetrics.
_INGEST: Final = {(2_000, 1): (1.3, 0.0), (2_000, 4): (1.3, 0.0),
                  (500, 1): (0.8, 1.3), (500, 4): (0.6, 1.3)}  # fmt: skip
_TESTS: Final = (
    ("acknowledged samples lost, 300 x kill -9, 300 torn tails, full disk, EIO", "0"),
    ("receiver compliance; Prometheus 3 by 1.0 and 2.0 read back equal", "no failure"),
)


class Bar(NamedTuple):
    what: str
    measured: float
    limit: float
    at_most: bool = False

    def cells(self) -> tuple[str, ...]:
        met = self.measured <= self.limit if self.at_most else self.measured >= self.limit
        sign = "<=" if self.at_most else ">="
        return self.what, f"{self.measured:.2f}", f"{sign} {self.limit:g}", "yes" if met else "NO"


async def _ingest(repeat: int, rounds: int) -> list[Bar]:
    compared = [each for each in receivers() if each.name in (OURS.name, VICTORIA)]
    if len(compared) == 1:
        return []
    loads = [
        Load(ingest.CONSUMERS, labels, per_request, connections)
        for per_request, connections in _INGEST
        for labels in _LABELS
    ]
    bars = []
    for load, costs in await ingest.compare(loads, repeat, rounds, compared):
        wall, cpu, new, _ = ingest.ratios(costs, VICTORIA)
        least_wall, least_cpu = _INGEST[load.per_request, load.connections]
        name = f"{load.per_request} a request, {load.connections} conn., {load.labels} labels"
        bars.append(Bar(f"ingest, {name}: wall x VM", wall, least_wall))
        if least_cpu:
            bars.append(Bar(f"ingest, {name}: CPU x VM", cpu, least_cpu))
        if load.per_request == ingest.REQUESTS[0]:
            bars.append(Bar(f"new series, {name}: wall x VM", new, 1.0))
    return bars


async def _others() -> list[Bar]:
    shares = await refusals.compare(ingest.REQUESTS, _LABELS)
    return [
        Bar("one bad series in each request, quarantine full: x good rate", min(shares), 0.5),
        Bar("bytes a sample with hourly statistics", await size.compare(), 1.05, at_most=True),
        Bar("KB per live series, 20 labels", await memory.live_bytes() / 1000, 1.5, at_most=True),
        Bar(
            "bytes per series not seen for a week", await memory.forgotten_bytes(), 1, at_most=True
        ),
    ]


async def measure(repeat: int, rounds: int, load_average: Callable[[], str]) -> None:
    print(f"  load average before: {load_average()}")
    bars = [*await _ingest(repeat, rounds), *await _others()]
    rows = [bar.cells() for bar in bars]
    rows += [(what, "", limit, "make test-long PART=archive") for what, limit in _TESTS]
    show("bars of the archive", ("", "measured", "bar", "met"), rows)
    print(f"  load average after: {load_average()}")


def _load_average() -> str:
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench archive", description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the median counts")
    parser.add_argument("--rounds", type=int, default=ingest.ROUNDS, help="samples of each series")
    args = parser.parse_args()
    asyncio.run(measure(args.repeat, args.rounds, _load_average))


if __name__ == "__main__":
    main()
