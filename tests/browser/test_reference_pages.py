"""The references in a real browser, under their own content security policy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web
from support.browser import Browser, Page, chromium_path, started_browser

from exporter.pages.reference.page import REFERENCES, docs_page
from exporter.pages.rendering import DOCS_POLICY

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(chromium_path() is None, reason="Chromium is not installed"),
]

SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
STYLED = "getComputedStyle(document.querySelector('.contents')).display"
PLACE = "document.getElementById({name!r}).getBoundingClientRect().top"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address() -> AsyncIterator[str]:
    async def serve(request: web.Request) -> web.Response:
        headers = {"Content-Security-Policy": DOCS_POLICY}
        page = await asyncio.to_thread(docs_page, request.match_info["name"])
        return web.Response(text=page, content_type="text/html", headers=headers)

    app = web.Application()
    app.router.add_get("/docs/{name}", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/docs"
    await runner.cleanup()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    async with started_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser) -> AsyncIterator[Page]:
    async with browser.page() as opened:
        yield opened


@pytest.mark.parametrize("name", sorted(REFERENCES))
async def test_the_page_is_styled_and_nothing_is_blocked_or_fetched(
    page: Page, address: str, name: str
) -> None:
    await page.open(f"{address}/{name}")
    assert await page.evaluate(STYLED) == "flex"
    assert page.console == []
    assert page.requests == [f"{address}/{name}"]


@pytest.mark.parametrize("name", sorted(REFERENCES))
@pytest.mark.parametrize(("width", "mobile"), [(360, True), (1280, False)])
async def test_the_page_never_scrolls_sideways(
    page: Page, address: str, name: str, width: int, mobile: bool
) -> None:
    await page.viewport(width, 800, mobile)
    await page.open(f"{address}/{name}")
    assert await page.evaluate(SIDEWAYS) is False


async def test_a_link_to_a_metric_leads_to_it(page: Page, address: str) -> None:
    name = "streamgauge_stream_messages"
    await page.open(f"{address}/metrics#{name}")
    assert 0 <= await page.evaluate(PLACE.format(name=name)) < 200
