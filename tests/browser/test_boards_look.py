"""What `make boards-look` notices in a page with the test ids of Grafana."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import pytest
from support.browser import chromium_path, started_browser
from support.grafana.looked import faults, seen_panels

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio,
    pytest.mark.skipif(chromium_path() is None, reason="Chromium is not installed"),
]

PANEL: Final = """<section data-testid="data-testid Panel header {title}" style="width:{width}px">
<h2 style="overflow:hidden;white-space:nowrap">{title}</h2>{inside}</section>"""
ERROR: Final = '<button data-testid="data-testid Panel status error">!</button><p>1</p>'
LOADING: Final = '<div aria-label="Panel loading bar"></div>'


async def test_every_fault_is_noticed_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "board.html"
    shown = [
        PANEL.format(title=title, width=width, inside=inside)
        for title, width, inside in (
            ("Healthy", 400, "<p>12</p>"),
            ("Empty by right", 400, "<p>none seen</p>"),
            ("Empty by fault", 400, "<p>no data</p>"),
            ("Failed", 400, ERROR),
            ("A title far too long for it", 40, "<p>1</p>"),
            ("Ranges", 400, "<p>-∞+</p>"),
            ("Timeline", 400, "<p>Data does not have a time field</p>"),
            ("Slow", 400, LOADING),
        )
    ]
    text = f'<!doctype html><meta charset="utf-8">{"".join(shown)}'
    await asyncio.to_thread(page.write_text, text)
    async with started_browser(tmp_path / "profile") as browser, browser.page() as tab:
        await tab.open(page.as_uri())
        seen = await seen_panels(tab)
    assert [each.title for each in seen if each.loading] == ["Slow"]
    filled = {"Healthy": "no data", "Empty by fault": "no data"}
    assert list(faults(seen, filled, ["Healthy", "Slow", "Never loaded"])) == [
        "Never loaded: is not drawn",
        "Empty by fault: is empty although there is data",
        "Failed: an error badge",
        "A title far too long for it: its title is clipped",
        "Ranges: shows -∞",
        "Timeline: shows Data does not have a time field",
    ]
