"""Each fault of the demo leads to its notification and its verdict on the status page."""

from __future__ import annotations

import asyncio
import html
import re
from pathlib import Path
from typing import Final

import pytest
from support.browser import chromium_path, started_browser
from support.demo_process import Demo, running_demo, text_of
from support.waiting import until

from streamgauge.demo.faults.fault import Fault
from streamgauge.demo.faults.registry import KINDS

FEW: Final = ("outage", "retention", "nak-loop", "clock")
ALL: Final = tuple(kind.name for kind in KINDS)
KIND: Final = {kind.name: kind for kind in KINDS}
PAUSE: Final = 0.5  # many wait at once, each by requests to the demo
HEALTHY: Final = ("--no-history", "--broken", "none")


async def _state_where(demo: Demo, name: str, patience: float, *, fires: bool) -> None:
    async def firing() -> list[str]:
        found: list[str] = (await demo.state())["faults"][name]["firing"]
        return found

    wanted = "fires" if fires else "resolves"
    await until(
        firing, lambda found: bool(found) is fires, f"{name} never {wanted}", patience, PAUSE
    )


async def _verdict_of(demo: Demo, fault: type[Fault], patience: float) -> None:
    """The row of its consumer on the status page has the verdict in words."""
    _, _, consumer = fault.place.partition(" > ")

    async def rows() -> list[str]:
        page = html.unescape(await text_of(demo.address("Status page")))
        return [row for row in re.findall(r"<tr.*?</tr>", page, re.DOTALL) if consumer in row]

    missing = f"{fault.name}: {fault.place} is never {fault.verdict!r} on the status page"
    await until(
        rows, lambda found: any(fault.verdict in row for row in found), missing, patience, PAUSE
    )


async def _broken_and_healed(demo: Demo, name: str, patience: float) -> None:
    """The alert fires, the status page shows the verdict, and after heal the alert resolves."""
    fault = KIND[name]
    code, _, error = await demo.say("break", name)
    assert code == 0, error
    await _state_where(demo, name, patience, fires=True)
    preview = html.unescape(await text_of(demo.address("Notification preview")))
    stream = fault.place.partition(" > ")[0]
    place = "" if " " in stream else stream
    assert any(alert in preview and place in preview for alert in fault.alerts), preview
    if fault.verdict:
        await _verdict_of(demo, fault, patience)
    code, _, error = await demo.say("heal", name)
    assert code == 0, error
    await _state_where(demo, name, patience, fires=False)


async def _all_of(demo: Demo, names: tuple[str, ...], patience: float) -> None:
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(_broken_and_healed(demo, name, patience))


@pytest.mark.timeout(170)
async def test_a_broken_fault_fires_its_alert_and_heal_resolves_it(tmp_path: Path) -> None:
    async with running_demo(tmp_path, *HEALTHY, "--speed", "90") as demo:
        if demo.address("Notification preview") == "not":
            pytest.skip("Alertmanager is not available here")
        await _all_of(demo, FEW, 140.0)


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_every_fault_fires_its_alert(tmp_path: Path) -> None:
    async with running_demo(tmp_path, *HEALTHY, "--nodes", "3") as demo:
        if demo.address("Notification preview") == "not":
            pytest.skip("Alertmanager is not available here")
        # One server less moves leaders, which is another fault's sign: it comes last and alone.
        await _all_of(demo, tuple(name for name in ALL if name != "server-down"), 400.0)
        await _broken_and_healed(demo, "server-down", 200.0)


OUR_PAGES: Final = ("Start page", "Notification preview", "Status page")
OTHER_PAGES: Final = ("Prometheus", "Alertmanager")  # what they log is theirs; they must open


@pytest.mark.browser
@pytest.mark.skipif(chromium_path() is None, reason="Chromium is not available here")
async def test_every_page_of_the_demo_opens_without_an_error(tmp_path: Path) -> None:
    async with (
        running_demo(tmp_path, "--no-history") as demo,
        started_browser(tmp_path / "profile") as browser,
    ):
        for name in (*OUR_PAGES, *OTHER_PAGES):
            if demo.address(name) == "not":
                continue
            async with browser.page() as page:
                await page.open(demo.address(name))
                complaints = page.console if name in OUR_PAGES else []
                assert complaints == [], f"{name}: {complaints}"
