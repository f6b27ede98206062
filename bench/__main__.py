"""`make bench`: every measurement in one run. Figures are printed, never asserted."""

from __future__ import annotations

import argparse
import asyncio

from bench import do_no_harm, poll_cost, scrape_cost
from bench.big_server import Size, big_server
from bench.exposition_writer import main as exposition_writer

PARTS = {"poll": poll_cost.compare, "scrape": scrape_cost.compare, "harm": do_no_harm.compare}


async def _measure(size: Size, parts: list[str]) -> None:
    async with big_server(size) as big:
        for part in parts:
            await PARTS[part](big)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--streams", type=int, nargs="+", default=[1000], metavar="N",
        help="sizes to measure, ten consumers on each stream (default 1000; 10000 takes 8 GB)",
    )  # fmt: skip
    parser.add_argument("--only", choices=["writer", *PARTS], nargs="+")
    words = parser.parse_args()
    only = words.only or ["writer", *PARTS]
    if "writer" in only:
        exposition_writer([])
    parts = [part for part in PARTS if part in only]
    for streams in words.streams if parts else ():
        asyncio.run(_measure(Size(streams), parts))


if __name__ == "__main__":
    main()
