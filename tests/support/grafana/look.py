"""`python -m support.grafana.look`: every board in a real Grafana, opened in Chromium at 1280 px.

Fails on "No data" where Prometheus has data, on errors, clipped titles and texts like "-∞"."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
from support.browser import Page, chromium_path, started_browser
from support.grafana.boards import BOARDS, Json, panels
from support.grafana.looked import Seen, faults, seen_panels
from support.grafana.pictures import CHOSEN, PICTURES, SCRAPE_SECONDS
from support.grafana.query import Prometheus, Window
from support.grafana.stack import stage
from yarl import URL

from streamgauge.demo.pipeline.grafana import find_engine, grafana
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.programs import prometheus as find_prometheus

WIDTH: Final = 1280
LOAD_SECONDS: Final = 90.0
HOW: Final = (
    "boards-look: skipped, {missing}. Set GRAFANA_URL=http://user:password@host:3000 of a Grafana "
    "with a Prometheus data source, or install grafana, podman or docker."
)


@dataclass(frozen=True)
class Opened:
    """A Grafana with our boards, and its Prometheus."""

    grafana: URL
    prometheus: str
    session: aiohttp.ClientSession

    def board(self, uid: str, minutes: float) -> str:
        chosen = {f"var-{name}": value for name, value in CHOSEN.get(uid, {}).items()}
        address = (self.grafana / "d" / uid).with_user(None)
        return str(address.with_query({"from": f"now-{minutes:g}m", "to": "now", **chosen}))

    def headers(self) -> dict[str, str]:
        if self.grafana.user is None:
            return {}
        words = f"{self.grafana.user}:{self.grafana.password or ''}"
        return {"Authorization": f"Basic {b64encode(words.encode()).decode()}"}


@asynccontextmanager
async def given(address: str) -> AsyncIterator[Opened]:
    """The Grafana of GRAFANA_URL: imports the boards, which replaces those with our uids."""
    url = URL(address)
    async with aiohttp.ClientSession(raise_for_status=True) as session:
        async with session.get(url / "api/datasources") as response:
            sources = [each for each in await response.json() if each["type"] == "prometheus"]
        if not sources:
            raise SystemExit(f"boards-look: {url.host} has no Prometheus data source")
        for board in BOARDS.values():
            body = {"dashboard": board | {"id": None}, "overwrite": True}
            async with session.post(url / "api/dashboards/db", json=body):
                pass
        yield Opened(url, str(url / f"api/datasources/proxy/uid/{sources[0]['uid']}"), session)


@asynccontextmanager
async def started(folder: Path, minutes: float) -> AsyncIterator[Opened]:
    """Our own: three servers with a workload, Prometheus, and Grafana by a program or a container."""
    engine = await asyncio.to_thread(find_engine)
    programs = await asyncio.to_thread(find_prometheus)
    if engine is None or programs is None:
        raise SystemExit(HOW.format(missing="there is neither Grafana nor a container engine here"))
    (port,) = await asyncio.to_thread(free_ports, 1)
    async with (
        stage(programs, folder, seconds=SCRAPE_SECONDS) as running,
        grafana(engine, folder, port, running.prometheus),
        aiohttp.ClientSession() as session,
    ):
        print(f"http://127.0.0.1:{port}: running for {minutes:g} minutes", flush=True)
        await asyncio.sleep(minutes * 60)
        yield Opened(URL(f"http://127.0.0.1:{port}"), running.prometheus, session)


async def look(opened: Opened, folder: Path, minutes: float) -> list[str]:
    found: list[str] = []
    async with started_browser(folder / "profile") as browser:
        for uid, board in BOARDS.items():
            async with browser.page() as tab:
                await tab.command("Network.setExtraHTTPHeaders", headers=opened.headers())
                shown = await _open(tab, opened.board(uid, minutes), board)
                await tab.screenshot(PICTURES / f"grafana-{uid}.png")
            filled = await _filled(opened, uid, board, minutes)
            found += [f"{uid}: {each}" for each in faults(shown, filled, _unfolded(board))]
            print(f"{uid}: {len(shown)} panels, {len(filled)} with data", flush=True)
    return found


async def _open(tab: Page, address: str, board: Json) -> list[Seen]:
    """As high as the board is: Grafana loads only the panels that are in view."""
    ends = [each["gridPos"]["y"] + each["gridPos"]["h"] for each in board["panels"]]
    await tab.viewport(WIDTH, 400 + 38 * max(ends))
    await tab.open(address)
    deadline, before = time.monotonic() + LOAD_SECONDS, None
    while time.monotonic() < deadline:
        now = await seen_panels(tab)
        if now and now == before and not any(each.loading for each in now):
            return now
        before = now
        await asyncio.sleep(1)
    raise SystemExit(f"boards-look: {address}: does not finish loading")


def _unfolded(board: Json) -> list[str]:
    """The panels that Grafana draws without a click; those of collapsed rows are inside the row."""
    return [each["title"] for each in board["panels"] if each["type"] != "row"]


async def _filled(opened: Opened, uid: str, board: Json, minutes: float) -> dict[str, str]:
    """The panels that have data in Prometheus, and what each shows without."""
    end = time.time()
    window = Window(end - minutes * 60, end, max(SCRAPE_SECONDS, minutes / 4), SCRAPE_SECONDS)
    source = Prometheus(opened.prometheus, opened.session, CHOSEN.get(uid, {}))
    asked = [each for each in panels(board) if each.get("targets")]
    return {
        each["title"]: each["fieldConfig"]["defaults"]["noValue"]
        for each in asked
        if await source.panel(each, window)
    }


async def _all(folder: Path, minutes: float) -> int:
    address = os.environ.get("GRAFANA_URL", "")
    where = given(address) if address else started(folder, minutes)
    async with where as opened:
        found = await look(opened, folder, minutes)
    for each in found:
        print(each, file=sys.stderr)
    return 1 if found else 0


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m support.grafana.look", description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=15.0, help="shown (default 15)")
    arguments = parser.parse_args(words)
    if chromium_path() is None:
        print(HOW.format(missing="there is no chromium on PATH"))
        return 0
    if not os.environ.get("GRAFANA_URL") and find_engine() is None:
        print(HOW.format(missing="there is no Grafana here"))
        return 0
    with tempfile.TemporaryDirectory(prefix="boards-look-") as folder:
        return asyncio.run(_all(Path(folder), arguments.minutes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
