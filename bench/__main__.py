"""`make bench`: all measurements of the exporter, or the named parts. Nothing is asserted."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
from typing import Final

from bench import poll_cost, scrape_cost
from bench.big_server import Size, big_server
from bench.do_no_harm import per_request, polling_sources
from bench.exposition_writer import main as exposition_writer

# On one server with many consumers.
ON_A_SERVER: Final = {
    "poll": poll_cost.compare,
    "scrape": scrape_cost.compare,
    "harm": per_request.compare,
    "sources": polling_sources.compare,
}
USUAL: Final = ("writer", "poll", "scrape", "harm")
# Programs of their own; options after their name go to them.
OTHERS: Final = {
    "archive": ("bench.archive.bars",),
    "archive_ingest": ("bench.archive.ingest",),
    "archive_refusals": ("bench.archive.refusals",),
    "archive_decoder": ("bench.archive.decoder",),
    "archive_size": ("bench.archive.size",),
    "archive_restart": ("bench.archive.restart",),
    "archive_memory": ("bench.archive.memory",),
    "forecast": ("bench.forecast.compare",),
    "rollup": ("bench.rollup.compare",),
    "audit": ("bench.audit",),
    "signals": ("bench.signal_cost",),
    "reconnect": ("bench.reconnect",),
    "rules": ("bench.rules.compare",),
    "pages": ("bench.pages",),
    "report": ("bench.report",),
    "soak": ("bench.soak",),
    "forged": ("bench.forged",),
    "chain": ("bench.chain.compare",),
}
_EPILOG: Final = """\
Without a name: writer, poll, scrape and harm, on 1,000 streams x 10 consumers.

  python -m bench --streams 1000 10000     both sizes of docs/benchmarks.md, takes 8 GB
  python -m bench sources                  publishers while each source polls, 9 minutes
  python -m bench archive                  all bars of the archive, about ten minutes
  python -m bench chain                    every part at once, 10,000 consumers, 9 minutes
  python -m bench forecast --series 200    options after such a name go to that program
"""


async def _measure(size: Size, parts: list[str]) -> None:
    async with big_server(size) as big:
        for part in parts:
            await ON_A_SERVER[part](big)


def _run_other(name: str, options: list[str]) -> None:
    for module in OTHERS[name]:
        print(f"\n== python -m {' '.join([module, *options])}", flush=True)
        sys.argv = [module, *options]
        importlib.import_module(module).main()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    known = ["writer", *ON_A_SERVER, *OTHERS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(known))
    parser.add_argument(
        "--streams", type=int, nargs="+", default=[1000], metavar="N",
        help="sizes to measure, ten consumers on each stream (default 1000; 10000 takes 8 GB)",
    )  # fmt: skip
    parser.add_argument("--only", nargs="+", metavar="PART", help="the same as to name them")
    return parser


def main(argv: list[str] | None = None) -> None:
    given = sys.argv[1:] if argv is None else argv
    if given and given[0] in OTHERS:
        return _run_other(given[0], given[1:])
    parser = _parser()
    words = parser.parse_args(given)
    parts = [*words.parts, *(words.only or ())] or list(USUAL)
    for part in parts:
        if part not in ("writer", *ON_A_SERVER):
            parser.error(f"{part} is no part of it; {', '.join(OTHERS)} go first and alone")
    if "writer" in parts:
        exposition_writer([])
    on_a_server = [part for part in ON_A_SERVER if part in parts]
    for streams in words.streams if on_a_server else ():
        asyncio.run(_measure(Size(streams), on_a_server))
    if not given:
        print(f"\n{_EPILOG}")
    return None


if __name__ == "__main__":
    main()
