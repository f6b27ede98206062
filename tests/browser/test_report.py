"""The monthly report in a real browser: on a desktop, on a phone, in dark mode and in print."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from support.browser import Browser, Page, chromium_path, started_browser
from support.rollups.report_month import healthy, report_of, with_everything

from spark_rollups.report.render import html_report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(chromium_path() is None, reason="Chromium is not installed"),
]

HOSTILE = "<script>alert(1)</script>\"'`</table></svg><img src=/stolen onerror=alert(2)>&amp;${1}"
LONG = "unbreakable" * 20
# The worst contrast of any visible text with what lies behind it, after WCAG 2. In a picture that
# is the bar before it, or the card.
WORST_CONTRAST = """(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    if (e.matches('text.in')) return rgb(getComputedStyle(e.previousElementSibling).fill);
    const colour = rgb(getComputedStyle(e).backgroundColor);
    return colour[3] === 0 ? behind(e.parentElement) : colour;
  };
  const ink = (e) => rgb(e.matches('text') ? getComputedStyle(e).fill : getComputedStyle(e).color);
  const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  return [...document.querySelectorAll('body *')]
    .filter((e) => hasText(e) && e.checkVisibility())
    .map((e) => {
      const [a, b] = [light(ink(e)), light(behind(e))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 120)];
    })
    .sort(([a], [b]) => a - b)[0];
})()"""
SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll('svg text')]
  .filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect().height))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two months as files, as they are sent by mail: one of hostile names, one of endless ones."""
    folder = tmp_path_factory.mktemp("reports")
    addresses = {}
    for word, name in (("hostile", HOSTILE), ("long", LONG)):
        path: Path = folder / f"{word}.html"
        path.write_text(html_report(report_of(with_everything(name)), 25, "csv"), encoding="utf-8")
        addresses[word] = path.as_uri()
    quiet = folder / "quiet.html"
    quiet.write_text(html_report(report_of(healthy()), 25, "csv"), encoding="utf-8")
    return {**addresses, "quiet": quiet.as_uri()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    async with started_browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@asynccontextmanager
async def opened(
    browser: Browser, url: str, width: int = 1280, scheme: str = "light"
) -> AsyncIterator[Page]:
    """The page, loaded; at the end it must have stayed silent and requested nothing else."""
    async with browser.page() as page:
        await page.viewport(width, 900, mobile=width < 500)
        await page.colour_scheme(scheme)
        await page.open(url)
        yield page
        assert page.console == []
        assert set(page.requests) == {url}


async def test_hostile_names_are_shown_and_not_run(browser: Browser, pages: dict[str, str]) -> None:
    async with opened(browser, pages["hostile"]) as page:
        names = (
            "[...document.querySelectorAll('#table-servers tbody th b')].map(e => e.textContent)"
        )
        assert HOSTILE in await page.evaluate(names)
        assert await page.evaluate("document.querySelectorAll('img, script').length") == 0
        shape = "new Set([...document.querySelectorAll('#table-servers tr')].map(r => r.cells.length)).size"
        assert await page.evaluate(shape) == 1


@pytest.mark.parametrize("width", [320, 390, 800, 1280])
async def test_no_width_makes_the_page_scroll_sideways(
    browser: Browser, pages: dict[str, str], width: int
) -> None:
    async with opened(browser, pages["long"], width) as page:
        wide = "[innerWidth, Math.max(innerWidth, document.scrollingElement.scrollWidth)]"
        assert await page.evaluate(wide) == [width, width]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_all_text_is_readable(
    browser: Browser, pages: dict[str, str], scheme: str, width: int
) -> None:
    async with opened(browser, pages["hostile"], width, scheme) as page:
        ratio, where = await page.evaluate(WORST_CONTRAST)
        assert ratio >= 4.5, where
        assert await page.evaluate(SMALLEST_TEXT) >= 11


async def test_a_quiet_month_is_said_in_one_screen(browser: Browser, pages: dict[str, str]) -> None:
    async with opened(browser, pages["quiet"], 1200) as page:
        headline = await page.evaluate("document.querySelector('.headline h2').innerText")
        assert headline == "No limit will be reached within 90 days, and nothing needs attention."
        summary = "document.getElementById('summary')"
        assert "No action is needed." in await page.evaluate(f"{summary}.innerText")
        assert await page.evaluate(f"{summary}.getBoundingClientRect().bottom <= innerHeight")


async def test_dark_mode_changes_the_background(browser: Browser, pages: dict[str, str]) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    async with opened(browser, pages["hostile"]) as page:
        light = await page.evaluate(background)
        await page.colour_scheme("dark")
        assert await page.evaluate(background) != light


async def test_a_small_screen_shows_rows_as_cards_that_name_their_numbers(
    browser: Browser, pages: dict[str, str]
) -> None:
    async with opened(browser, pages["hostile"], 390) as page:
        cell = "document.querySelector('#table-streams td')"
        named = f"getComputedStyle({cell}, '::before').content"
        assert await page.evaluate(named) == '"Size"'
        assert (
            await page.evaluate("getComputedStyle(document.querySelector('thead')).display")
            == "none"
        )


async def test_a_link_of_the_first_page_leads_to_its_action(
    browser: Browser, pages: dict[str, str]
) -> None:
    async with browser.page() as page:
        await page.viewport(1280, 900)
        await page.open(pages["hostile"])
        await page.click(".actions a")
        target = "document.querySelector(':target').className"
        assert "action" in await page.evaluate(target)


async def test_paper_is_light_numbered_and_not_wider_than_a_page(
    browser: Browser, pages: dict[str, str]
) -> None:
    async with opened(browser, pages["long"], 688, "dark") as page:
        await page.command("Emulation.setEmulatedMedia", media="print")
        white = "getComputedStyle(document.body).backgroundColor"
        assert await page.evaluate(white) == "rgb(255, 255, 255)"
        assert await page.evaluate("document.scrollingElement.scrollWidth") <= 688
        response = await page.command(
            "Page.printToPDF", preferCSSPageSize=True, printBackground=True
        )
        pdf = base64.b64decode(response["data"])
        sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
        assert 3 <= len(sizes) <= 40
        assert {(round(float(wide)), round(float(high))) for wide, high in sizes} == {(595, 842)}
