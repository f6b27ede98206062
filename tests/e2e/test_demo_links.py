"""The whole demo, as a new user follows it: every link opens, the path of five clicks, full boards."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import aiohttp
import pytest
from support.browser import chromium_path, started_browser
from support.demo_process import Demo, running_demo, text_of
from support.waiting import until

from exporter import catalog as c

PATIENCE: Final = 600.0
PAUSE: Final = 1.0
HAS_CHROMIUM: Final = chromium_path() is not None
STEPS: Final = ("history", "archive", "boards' history", "rollup", "report")
# Of the rollups by the exporter, and of the history by blocks: sixty days at once.
FROM_ROLLUPS: Final = (
    c.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS,
    c.FORECAST_STREAM_BYTES,
    c.FORECAST_SERVER_STORAGE_USED_BYTES,
)
FIVE_CLICKS: Final = (
    ("The notification", "Notification preview"),
    ("The status page", "critical"),
    ("The stuck consumer", "stuck"),
    ("The runbook", "JetStreamConsumerAckPendingFull"),
    ("The monthly report", "All months"),
)


async def queried(demo: Demo, query: str) -> list[Any]:
    address = urljoin(demo.address("Prometheus"), "api/v1/query")
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, data={"query": query}) as response,
    ):
        found: list[Any] = (await response.json())["data"]["result"]
        return found


async def all_is_ready(demo: Demo) -> None:
    async def unready() -> dict[str, str]:
        progress = (await demo.state())["progress"]
        return {step: progress.get(step, "") for step in STEPS if not ready(progress.get(step, ""))}

    await until(unready, lambda steps: not steps, "the pipeline is never ready", PATIENCE, PAUSE)

    async def firing() -> list[str]:
        return [alert["name"] for alert in (await demo.state())["firing"]]

    named = FIVE_CLICKS[3][1]
    await until(firing, lambda names: named in names, f"{named} never fires", PATIENCE, PAUSE)


def ready(progress: str) -> bool:
    return progress.startswith(("ready", "receives"))


async def forecasts_and_history_are_in_prometheus(demo: Demo) -> None:
    for metric in FROM_ROLLUPS:

        async def series(name: str = metric.name) -> list[Any]:
            return await queried(demo, name)

        await until(series, bool, f"Prometheus never has {metric.name}", PATIENCE, PAUSE)
    assert await queried(demo, f"{c.STREAM_BYTES.name} offset 50d")


async def links_of(demo: Demo) -> set[str]:
    """Of the start page with what it lists by script, and of the notifications."""
    start, preview = demo.address("Start page"), demo.address("Notification preview")
    found = {
        urljoin(page, html.unescape(link))
        for page in (start, preview)
        for link in re.findall(r'href="([^"]+)"', await text_of(page))
    }
    for alert in (await demo.state())["firing"]:
        found |= {urljoin(start, alert["board"]), urljoin(start, alert["runbook"])}
    return {link for link in found if link.startswith("http")}


async def every_link_opens(demo: Demo) -> None:
    async def code(link: str) -> int:
        async with session.get(link) as response:
            return response.status

    async with aiohttp.ClientSession() as session:
        closed = {
            link: answer for link in await links_of(demo) if (answer := await code(link)) != 200
        }
    assert closed == {}


async def five_clicks(demo: Demo, folder: Path) -> None:
    async with started_browser(folder) as browser:
        for number, (text, heading) in enumerate(FIVE_CLICKS, start=1):
            async with browser.page() as page:
                await page.open(demo.address("Start page"))
                link = f"ol li:nth-child({number}) a"
                assert await page.evaluate(f"document.querySelector('{link}').textContent") == text
                async with page.reloaded():
                    await page.click(link)
                assert heading in await page.evaluate("document.querySelector('h1').innerText")
                assert page.console == []


@pytest.mark.long
@pytest.mark.timeout(1500)
async def test_every_link_opens_and_the_boards_are_full(tmp_path: Path) -> None:
    async with running_demo(tmp_path) as demo:
        if demo.address("Notification preview") == "not":
            pytest.skip("Alertmanager is not available here")
        await all_is_ready(demo)
        await forecasts_and_history_are_in_prometheus(demo)
        await every_link_opens(demo)
        if HAS_CHROMIUM:
            await five_clicks(demo, tmp_path / "profile")
