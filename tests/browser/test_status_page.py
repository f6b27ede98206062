"""The status page in a real browser, under its own content security policy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import quote

import pytest
import pytest_asyncio
from aiohttp import web
from exporter.pages.status.page import content_security_policy, status_page
from support.browser import Browser, Page, chromium_path, started_browser

from exporter.pages.status.view import (
    ConsumerView,
    RequestView,
    ServerView,
    StatusView,
    SystemView,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(chromium_path() is None, reason="Chromium is not installed"),
]

HOSTILE = "<script>alert(1)</script>\"'`</table><img src=/stolen onerror=alert(2)>&amp;${1}"
NAMES = "[...document.querySelectorAll('.consumers tbody tr')].filter(r => !r.hidden).map(r => r.cells[2].textContent)"
SORTED = "[...document.querySelectorAll('[aria-sort]')].map(h => h.dataset.key + ' ' + h.ariaSort)"
COUNT = "document.querySelector('output').textContent"

# The worst contrast between any visible text and what lies behind it, after WCAG 2.
WORST_CONTRAST = """(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    const colour = rgb(getComputedStyle(e).backgroundColor);
    return colour[3] === 0 ? behind(e.parentElement) : colour;
  };
  const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  return [...document.querySelectorAll('body *')]
    .filter((e) => hasText(e) && e.checkVisibility() && !e.matches('script, style'))
    .map((e) => {
      const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 80)];
    })
    .sort(([a], [b]) => a - b)[0];
})()"""


def consumer(name: str, backlog: int, stream: str = "ORDERS") -> ConsumerView:
    return ConsumerView(
        account="ACME",
        stream=stream,
        consumer=name,
        up=True,
        backlog=backlog,
        num_pending=backlog,
        num_ack_pending=backlog % 7,
        max_ack_pending=1000,
        num_redelivered=0,
        num_waiting=None if name == "push" else backlog % 5,
        ack_floor_gap=0,
        paused=False,
        leader="n1",
    )


SYSTEM = SystemView(
    name="demo",
    source="system",
    targets=("nats://a-server-with-a-rather-long-name.in-a-long-domain.invalid:4222",),
    state="partial",
    age_seconds=3.0,
    poll_seconds=0.1,
    servers_responding=1,
    servers_expected=2,
    accounts=1,
    streams=2,
    consumers=5,
    series=100,
    requests=(
        RequestView("jsz", ok=True, seconds=0.1, age_seconds=3.0),
        RequestView("varz", False, 2.0, None, "permission", "$SYS.REQ.SERVER.PING.VARZ denied"),
    ),
    servers=(
        ServerView("n1", "2.15.1", up=True),
        ServerView("n2", "2.14.6", up=False, detail="last seen 2 min ago"),
    ),
    consumer_rows=(
        consumer("nine", 9),
        consumer("ten", 10),
        consumer("thousands", 1_200_000),
        consumer("push", 100, stream="PAYMENTS"),
        replace(consumer("gone", 0), up=False),
        replace(consumer("loop", 5), verdict="redelivery loop"),
    ),
    notes=("Streams matching ^KV_ are dropped.",),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    async with started_browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@asynccontextmanager
async def served(*systems: SystemView) -> AsyncIterator[str]:
    text = status_page(StatusView("0.1.0", 1_794_814_732.0, 15, "flags", systems))

    async def response(_: web.Request) -> web.Response:
        headers = {"Content-Security-Policy": content_security_policy()}
        return web.Response(text=text, content_type="text/html", headers=headers)

    app = web.Application()
    app.router.add_get("/", response)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def opened(
    browser: Browser, *systems: SystemView, hash_part: str = ""
) -> AsyncIterator[Page]:
    """The page, loaded; at the end it must have stayed silent and requested nothing else."""
    async with served(*(systems or (SYSTEM,))) as url, browser.page() as page:
        await page.open(url + hash_part)
        yield page
        assert page.console == []
        assert {request for request in page.requests if not request.startswith("data:")} == {url}


async def test_rows_come_by_backlog_and_a_click_sorts_them_as_numbers(browser: Browser) -> None:
    async with opened(browser) as page:
        falling = ["thousands", "push", "ten", "nine", "loop", "gone"]
        assert await page.evaluate(NAMES) == falling
        assert await page.evaluate(SORTED) == ["backlog descending"]
        await page.click("[data-key=backlog] button")
        assert await page.evaluate(NAMES) == ["loop", "nine", "ten", "push", "thousands", "gone"]
        assert await page.evaluate(SORTED) == ["backlog ascending"]
        await page.click("[data-key=backlog] button")
        assert await page.evaluate(NAMES) == falling
        assert await page.evaluate("location.hash") == ""


async def test_names_sort_as_text_and_states_gravest_first(browser: Browser) -> None:
    async with opened(browser) as page:
        await page.click("[data-key=consumer] button")
        names = await page.evaluate(NAMES)
        assert names == sorted(names)
        await page.click("[data-key=state] button")
        assert (await page.evaluate(NAMES))[:2] == ["gone", "loop"]


async def test_a_header_is_reached_and_pressed_by_keyboard(browser: Browser) -> None:
    async with opened(browser) as page:
        await page.evaluate("document.querySelector('[data-key=state] button').focus()")
        await page.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Backlog"
        await page.press("Enter")
        assert await page.evaluate(SORTED) == ["backlog ascending"]


async def test_search_narrows_counts_and_lives_in_the_link(browser: Browser) -> None:
    async with opened(browser) as page:
        await page.click("input[type=search]")
        await page.type_text("payMENTS")
        assert await page.evaluate(NAMES) == ["push"]
        assert await page.evaluate(COUNT) == " · 1 of them matches"
        await page.click("[data-key=pending] button")
        link = await page.evaluate("location.hash")
    async with opened(browser, hash_part=link) as page:
        assert (
            await page.evaluate("document.querySelector('input[type=search]').value") == "payMENTS"
        )
        assert await page.evaluate(NAMES) == ["push"]
        assert await page.evaluate(SORTED) == ["pending descending"]


async def test_a_search_that_finds_nothing_reports_that(browser: Browser) -> None:
    async with opened(browser, hash_part="#demo.q=nowhere") as page:
        assert await page.evaluate(NAMES) == []
        assert await page.evaluate(COUNT) == " · 0 of them match"


async def test_each_system_keeps_its_own_search_and_sort(browser: Browser) -> None:
    other = replace(SYSTEM, name="a&b=#c")
    async with opened(
        browser, SYSTEM, other, hash_part=f"#{quote('a&b=#c.q', safe='')}=ten"
    ) as page:
        tables = "[...document.querySelectorAll('.consumers')].map(t => [...t.tBodies[0].rows].filter(r => !r.hidden).length)"
        assert await page.evaluate(tables) == [6, 1]


async def test_a_link_with_nonsense_shows_the_normal_page(browser: Browser) -> None:
    async with opened(browser, hash_part="#demo.sort=-nothing&%%%&system-1") as page:
        assert await page.evaluate(SORTED) == ["backlog descending"]
        assert len(await page.evaluate(NAMES)) == 6


async def test_following_a_system_keeps_what_the_link_remembers(browser: Browser) -> None:
    async with opened(browser, hash_part="#demo.q=ten") as page:
        await page.click(".lines a")
        assert await page.evaluate("location.hash") == "#demo.q=ten"


@pytest.mark.parametrize("width", [320, 375, 800, 1280])
async def test_no_width_makes_the_page_scroll_sideways(browser: Browser, width: int) -> None:
    long = "unbreakable" * 20
    row = replace(consumer(long, 10**15), account=long, stream=long, leader=long, verdict=long)
    system = replace(
        SYSTEM,
        name=long,
        targets=(f"nats://{long}:4222",),
        notes=(long,),
        requests=(*SYSTEM.requests, RequestView(long, False, 1.0, None, long, long)),
        servers=(*SYSTEM.servers, ServerView(long, long, False, long)),
        consumer_rows=(*SYSTEM.consumer_rows, row),
    )
    async with served(system) as url, browser.page() as page:
        await page.viewport(width, 800, mobile=width < 500)
        await page.open(url)
        # A phone widens its viewport to what overflows: both must still be what was requested.
        wide = "[innerWidth, Math.max(innerWidth, document.scrollingElement.scrollWidth)]"
        assert await page.evaluate(wide) == [width, width]


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_all_text_is_readable(browser: Browser, scheme: str, width: int) -> None:
    empty = replace(SYSTEM, name="empty", streams=0, consumer_rows=())
    async with served(SYSTEM, empty) as url, browser.page() as page:
        await page.viewport(width, 800)
        await page.colour_scheme(scheme)
        await page.open(url)
        ratio, where = await page.evaluate(WORST_CONTRAST)
        assert ratio >= 4.5, where


async def test_dark_mode_changes_the_background(browser: Browser) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    async with opened(browser) as page:
        await page.colour_scheme("light")
        light = await page.evaluate(background)
        await page.colour_scheme("dark")
        assert await page.evaluate(background) != light


async def test_hostile_names_are_shown_and_not_run(browser: Browser) -> None:
    row = replace(consumer(HOSTILE, 7), account=HOSTILE, stream=HOSTILE, leader=HOSTILE)
    hostile = replace(
        SYSTEM,
        name=HOSTILE,
        targets=(HOSTILE,),
        notes=(HOSTILE,),
        requests=(RequestView(HOSTILE, False, 1.0, None, HOSTILE, HOSTILE),),
        servers=(ServerView(HOSTILE, HOSTILE, False, HOSTILE),),
        consumer_rows=(row, consumer("plain", 1)),
    )
    async with opened(browser, hostile) as page:
        assert await page.evaluate(NAMES) == [HOSTILE, "plain"]
        await page.click("input[type=search]")
        await page.type_text("</script>")
        assert await page.evaluate(NAMES) == [HOSTILE]
        shape = "[...document.querySelectorAll('.consumers tr')].map(r => r.cells.length)"
        assert await page.evaluate(shape) == [11, 11, 11]
        assert await page.evaluate("document.querySelectorAll('img').length") == 0


async def test_without_script_all_is_there_and_nothing_pretends_to_work(browser: Browser) -> None:
    async with served(SYSTEM) as url, browser.page() as page:
        await page.without_script()
        await page.open(url)
        assert (await page.evaluate(NAMES))[:2] == ["thousands", "push"]
        controls = "[...document.querySelectorAll('button, input')].filter(e => e.checkVisibility()).length"
        assert await page.evaluate(controls) == 0


async def test_refreshing_is_off_until_requested_and_survives_a_reload(browser: Browser) -> None:
    async with served(SYSTEM) as url, browser.page() as page:
        # Timers are kept for the test to fire; the test does not wait fifteen seconds.
        await page.before_load("window.timers = []; setTimeout = (f, ms) => timers.push([f, ms])")
        await page.open(url)
        assert await page.evaluate("timers.length") == 0
        await page.click("#refresh")
        assert await page.evaluate("[location.hash, timers[0][1]]") == ["#refresh=15", 15000]
        async with page.reloaded():
            await page.evaluate("timers[0][0]()")
        assert await page.evaluate("document.getElementById('refresh').checked") is True
        assert await page.evaluate("timers.length") == 1


async def test_a_page_left_open_shows_that_it_is_old(browser: Browser) -> None:
    async with served(SYSTEM) as url, browser.page() as page:
        await page.before_load("window.ticks = []; setInterval = (f) => ticks.push(f)")
        await page.open(url)
        visible = "document.querySelector('.old').checkVisibility()"
        age = "document.getElementById('age').textContent"
        await page.evaluate("window.began = Date.now(); Date.now = () => began + 44000; ticks[0]()")
        assert [await page.evaluate(visible), await page.evaluate(age)] == [False, ", 44 s ago"]
        await page.evaluate("Date.now = () => began + 125000; ticks[0]()")
        assert [await page.evaluate(visible), await page.evaluate(age)] == [True, ", 2 min ago"]
