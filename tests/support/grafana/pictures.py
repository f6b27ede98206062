"""`python -m support.grafana.pictures MINUTES`: runs the stage so long, then draws every board.

The pictures are a rendering of ours from the boards' JSON and real data, not Grafana's."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import aiohttp
from support.browser import Browser, started_browser
from support.grafana.board_html import WIDTH, opened, page
from support.grafana.boards import BOARDS, ROOT, Json, panels
from support.grafana.query import Prometheus, Series, Window
from support.grafana.stack import Stage, stage
from support.grafana.workload import LEDGER
from support.nats.servers import APP

from streamgauge.demo.processes.programs import prometheus as find_prometheus

PICTURES: Final = ROOT / "docs/pictures"
SCRAPE_SECONDS: Final = 5
POINTS: Final = 240
SUBTITLE: Final = (
    "Drawn by Streamgauge's own renderer from the board's file and live data of the demo; "
    "not a screenshot of Grafana. Times are UTC."
)
# The boards about one thing show the one with the best story.
CHOSEN: Final = {
    "sg-stream": {"stream": "PAYMENTS"},
    "sg-consumer": {"stream": "PAYMENTS", "consumer": "stuck"},
}


async def draw(address: str, folder: Path, shown: float, scrape: float) -> None:
    end = time.time()
    async with aiohttp.ClientSession() as session:
        for uid, board in BOARDS.items():
            seconds = max(shown, _days(board) * 86_400)
            window = Window(end - seconds, end, max(scrape, seconds / POINTS), scrape)
            context = Prometheus(address, session, CHOSEN.get(uid, {}))
            found = {each["id"]: await context.panel(each, window) for each in panels(board)}
            path = folder / f"board-{uid}.html"
            await asyncio.to_thread(path.write_text, _page(board, found, window))
            print(f"{uid}: {sum(map(bool, found.values()))} of {len(found)} panels", flush=True)


def _days(board: Json) -> int:
    """Of the range that a board for weeks opens with; 0 for one of hours."""
    found = re.fullmatch(r"now-(\d+)d", board["time"]["from"])
    return int(found[1]) if found else 0


def _page(board: Json, found: dict[int, list[Series]], window: Window) -> str:
    return page(opened(board), found, window, SUBTITLE)


async def photograph(folder: Path) -> None:
    async with started_browser(folder / "profile") as browser:
        for uid in BOARDS:
            name = f"board-{uid}"
            await _photograph(browser, folder / f"{name}.html", PICTURES / f"{name}.png")


async def _photograph(browser: Browser, source: Path, picture: Path) -> None:
    async with browser.page() as tab:
        await tab.viewport(WIDTH, 800)
        await tab.open(source.as_uri())
        height = await tab.evaluate("document.documentElement.scrollHeight")
        await tab.viewport(WIDTH, int(height))
        await tab.screenshot(picture)
        print(picture.name, flush=True)


async def _pictures(address: str, folder: Path, minutes: float) -> None:
    await draw(address, folder, minutes * 60, SCRAPE_SECONDS)
    await photograph(folder)


async def _all(arguments: argparse.Namespace, folder: Path) -> int:
    if arguments.prometheus:
        await _pictures(arguments.prometheus, folder, arguments.minutes)
        return 0
    programs = await asyncio.to_thread(find_prometheus)
    if programs is None:
        print("Prometheus cannot be had here", file=sys.stderr)
        return 1
    async with stage(programs, folder, seconds=SCRAPE_SECONDS) as running:
        await _live(running, arguments.minutes)
        await _pictures(running.prometheus, folder, arguments.minutes)
    return 0


async def _live(running: Stage, minutes: float) -> None:
    """With an election in the middle, for the annotations and the timelines."""
    print(f"{running.prometheus}: running for {minutes:g} minutes", flush=True)
    await asyncio.sleep(minutes * 30)
    print(f"{LEDGER}: now led by {await running.cluster.step_down_stream(APP, LEDGER)}", flush=True)
    await asyncio.sleep(minutes * 30)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m support.grafana.pictures", description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=20.0, help="shown (default 20)")
    parser.add_argument("--prometheus", metavar="URL", help="draw what this one has, start nothing")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="grafana-picture-") as folder:
        return asyncio.run(_all(arguments, Path(folder)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
