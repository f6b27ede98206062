"""The whole chain at once, and what each part of it takes.

A nats-server with many consumers of which 1 % move, the exporter, Prometheus with all rules and the
shipped configuration, three boards loaded every 30 s, the archive, then a rollup and the report.
From 50,000 consumers on, nats-server and exporter run first, then the rest on a recorded exposition."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from bench.big_server import Size
from bench.chain.run import ChainRun
from bench.chain.table import print_table
from streamgauge.demo.processes.child import ChildError
from streamgauge.demo.processes.program_cache import ProgramMissingError

_LIVE_BELOW = 50_000
_EACH = 10
_WAITING = 0.01  # of the streams have a backlog and no worker


async def compare(run: ChainRun, *, live: bool) -> None:
    before = os.getloadavg()[0]
    await (run.live() if live else run.in_two_steps())
    await run.roll_up()
    how = "live" if live else "in two steps"
    print_table(
        f"the chain with {run.size}, {how}, {run.minutes:g} minutes\n"
        f"  a poll and a scrape every {run.place.interval} s; load {before:.1f} before, "
        f"{os.getloadavg()[0]:.1f} after",
        run.rows,
        run.notes,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench chain", description=__doc__)
    parser.add_argument("--consumers", type=int, default=10_000, help="ten on each stream")
    parser.add_argument("--minutes", type=float, default=5.0, help="of each step (default 5)")
    parser.add_argument(
        "--interval", type=int, default=15, help="seconds between polls and scrapes (default 15)"
    )
    parser.add_argument("--two-steps", action="store_true", help="also with fewer consumers")
    words = parser.parse_args()
    if words.consumers < _EACH:
        parser.error(f"--consumers: at least {_EACH}")
    live = words.consumers < _LIVE_BELOW and not words.two_steps
    try:
        with tempfile.TemporaryDirectory(prefix="streamgauge-chain-") as folder:
            size = Size(words.consumers // _EACH, _EACH, waiting=_WAITING)
            run = ChainRun.of(Path(folder), size, words.minutes, words.interval)
            asyncio.run(compare(run, live=live))
    except (ChildError, ProgramMissingError) as error:
        sys.exit(f"bench chain: {error}")
    except KeyboardInterrupt:
        sys.exit("bench chain: interrupted, all parts are stopped")


if __name__ == "__main__":
    main()
