"""The status pages in a real browser, under their own content security policy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from aiohttp import web
from msgspec.structs import replace
from support.browser import Browser, Page, chromium_path, started_browser
from support.exporter.models import NOW, consumer, consumer_config, server, stream, stream_config
from support.exporter.status_views import MemoryPoller, held, polled, site

from exporter.model import Replica
from exporter.pages.rendering import STATUS_POLICY
from exporter.pages.site import ASSETS, TABLES, StatusSite
from exporter.signals.results import Signals
from streamgauge.demo.processes.programs import axe

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(chromium_path() is None, reason="Chromium is not installed"),
]

HOSTILE = "<script>alert(1)</script>\"'`</table><img src=/stolen onerror=alert(2)>&amp;${1}"
LONG = "unbreakable" * 20
NAMES = "[...document.querySelectorAll('.list tbody tr')].map(r => r.cells[0].textContent.trim())"
SORTED = "[...document.querySelectorAll('[aria-sort]')].map(h => h.textContent.trim() + ' ' + h.ariaSort)"

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


SIGNALS = Signals(
    consumers={
        ("APP", "ORDERS", "stuck"): held(
            ("ack_pending_full", 600.0), ("no_worker_pulls", 900.0), ("long_jobs", 60.0), lag=900.0
        ),
        ("APP", "ORDERS", "again"): held(("redelivery_high", 60.0), redelivery_ratio=0.5),
    },
    stream_conditions={("APP", "ORDERS"): (("full", NOW - 30),)},
    server_conditions={"n1": (("clock_off", NOW - 7200),)},
    unjudged={("filling", "watched too briefly"): 3},
)
REPLICAS = (Replica("n2", 5, True, 90.0), Replica("n3", 0, False, 0.2))
FULL = stream_config(discard="new", max_messages=10, replicas=3)
STUCK = consumer("stuck", num_pending=9, num_ack_pending=1000, replicas=REPLICAS)
ROWS = (
    STUCK,
    consumer("again", num_pending=10),
    consumer("thousands", num_pending=1_200_000),
    consumer("push", num_pending=100, stream="PAYMENTS", config=consumer_config(kind="push")),
    consumer("gone", up=False),
    stream(config=FULL, messages=10, replicas=REPLICAS),
    stream("PAYMENTS"),
    server(offset=7.0, version="2.15.1"),
)


def unwell() -> MemoryPoller:
    """With an hour of history."""
    made = polled(*ROWS, signals=SIGNALS)
    for step in range(121):
        rows = (replace(STUCK, num_pending=step % 50, delivered_consumer_seq=step * 7),)
        shot = replace(made.state.snapshot, taken=NOW - (120 - step) * 30, consumers=rows)  # type: ignore[type-var]
        made.history.update(shot, SIGNALS)
    return made


CONSUMER = "consumer?system=demo&account=APP&stream=ORDERS&consumer=stuck"
PAGES = {
    "overview": "",
    "consumers": "consumers",
    "streams": "streams?sort=-messages",
    "servers": "servers",
    "consumer": CONSUMER,
    "stream": "stream?system=demo&account=APP&stream=ORDERS",
    "server": "server?system=demo&server=n1",
    "missing": "consumer?system=demo&account=APP&stream=ORDERS&consumer=stuk",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    async with started_browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def content(made: StatusSite, request: web.Request) -> tuple[int, str]:
    name = request.path.strip("/")
    if name in TABLES:
        return made.table(name, request.query)
    if name in ASSETS:
        return made.asset(name, request.query)
    return 200, made.overview() if not name else f"<title>{name}</title>"


@asynccontextmanager
async def served(*pollers: MemoryPoller) -> AsyncIterator[str]:
    made = site(*(pollers or (unwell(),)), grafana="https://grafana.invalid")

    async def response(request: web.Request) -> web.Response:
        status, text = await asyncio.to_thread(content, made, request)
        headers = {"Content-Security-Policy": STATUS_POLICY}
        return web.Response(text=text, content_type="text/html", headers=headers, status=status)

    app = web.Application()
    app.router.add_get("/{path:.*}", response)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def opened(browser: Browser, path: str = "", *pollers: MemoryPoller) -> AsyncIterator[Page]:
    """The page, loaded; at the end it must have stayed silent and requested nothing of others."""
    async with served(*pollers) as url, browser.page() as page:
        await page.open(url + path)
        yield page
        assert [line for line in page.console if "404" not in line] == []
        asked = [request for request in page.requests if not request.startswith("data:")]
        assert all(request.startswith(url) for request in asked)


async def follow(page: Page, selector: str) -> None:
    """By its own click: the middle of a link that breaks is empty."""
    async with page.reloaded():
        await page.evaluate(f"document.querySelector({selector!r}).click()")


async def test_a_click_on_a_head_sorts_and_another_one_turns_the_order(browser: Browser) -> None:
    async with opened(browser, "consumers") as page:
        assert (await page.evaluate(NAMES))[:2] == ["stuck", "again"]
        assert await page.evaluate(SORTED) == []
        await follow(page, "thead th:nth-child(5) a")
        assert await page.evaluate(NAMES) == ["thousands", "push", "again", "stuck", "gone"]
        assert await page.evaluate(SORTED) == ["Pending descending"]
        await follow(page, "thead th:nth-child(5) a")
        assert await page.evaluate(NAMES) == ["stuck", "again", "push", "thousands", "gone"]
        assert await page.evaluate(SORTED) == ["Pending ascending"]


async def test_a_head_is_reached_and_pressed_by_keyboard(browser: Browser) -> None:
    async with opened(browser, "consumers") as page:
        await page.evaluate("document.querySelector('thead th:nth-child(4) a').focus()")
        await page.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Pending"
        async with page.reloaded():
            await page.press("Enter")
        assert await page.evaluate(SORTED) == ["Pending descending"]


async def test_a_search_narrows_keeps_the_order_and_lives_in_the_link(browser: Browser) -> None:
    async with opened(browser, "consumers?sort=-consumer") as page:
        await page.click("input[type=search]")
        await page.type_text("payMENTS")
        async with page.reloaded():
            await page.press("Enter")
        assert await page.evaluate(NAMES) == ["push"]
        assert (
            await page.evaluate("document.querySelector('[role=status]').textContent") == "1 of 5"
        )
        assert "q=payMENTS" in await page.evaluate("location.search")
        assert await page.evaluate(SORTED) == ["Consumer descending"]
        await follow(page, "form a")
        assert len(await page.evaluate(NAMES)) == 5


async def test_the_way_from_the_overview_to_the_runbook(browser: Browser) -> None:
    async with served() as url, browser.page() as page:
        await page.open(url)
        await follow(page, ".unwell tbody a")
        assert "stuck" in await page.evaluate("document.querySelector('h1').textContent")
        await follow(page, ".path a:last-child")
        assert "ORDERS" in await page.evaluate("document.querySelector('h1').textContent")
        await follow(page, ".gravest a")
        assert await page.evaluate("location.pathname") == "/docs/runbooks/JetStreamStreamFull"


async def test_every_link_of_every_page_leads_somewhere(browser: Browser) -> None:
    links = "[...document.links].filter(a => a.origin === location.origin).map(a => a.href)"
    async with served() as url, browser.page() as page:
        found = set()
        for path in (path for name, path in PAGES.items() if name != "missing"):
            await page.open(url + path)
            found |= set(await page.evaluate(links))
        paths = {link.removeprefix(url).split("?")[0].split("#")[0] for link in found}
        assert {"consumer", "stream", "server", "consumers", "streams", "servers"} <= paths
        check = f"Promise.all({sorted(found)!r}.map(u => u.split('#')[0]).map(async u => [u, (await fetch(u)).status]))"
        await page.command("Page.setBypassCSP", enabled=True)
        await page.open(url)
        assert [each for each in await page.evaluate(check) if each[1] != 200] == []


@pytest.mark.parametrize("name", sorted(PAGES))
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_serious(browser: Browser, name: str, scheme: str) -> None:
    script = await asyncio.to_thread(axe)
    if script is None:
        pytest.skip("axe-core is not available")
    source = await asyncio.to_thread(script.read_text)
    async with opened(browser, PAGES[name]) as page:
        await page.colour_scheme(scheme)
        await page.evaluate(source + "; 0")
        found = await page.evaluate(
            "axe.run().then(r => r.violations.map(v => [v.impact, v.id, v.nodes[0].html]))"
        )
        passed = await page.evaluate("axe.run().then(r => r.passes.length)")
    assert [each for each in found if each[0] in ("serious", "critical")] == []
    assert passed > 10


@pytest.mark.parametrize("name", ["overview", "consumers", "consumer", "stream"])
@pytest.mark.parametrize("width", [320, 390, 800, 1300])
async def test_no_width_makes_a_page_scroll_sideways(
    browser: Browser, width: int, name: str
) -> None:
    row = replace(STUCK, name=LONG, stream=LONG, account=LONG, leader=LONG, num_pending=10**15)
    signals = Signals(
        consumers={(LONG, LONG, LONG): held(("stalled", 9.0), ("nak_loop", 5.0))},
        stream_conditions={(LONG, LONG): (("full", NOW - 30),)},
    )
    poller = polled(
        row, stream(LONG, account=LONG, config=FULL, replicas=REPLICAS), signals=signals
    )
    names = f"system=demo&account={LONG}&stream={LONG}&consumer={LONG}"
    path = {"overview": "", "consumers": "consumers"}.get(name, f"{name}?{names}")
    async with served(poller) as url, browser.page() as page:
        await page.viewport(width, 800, mobile=width < 500)
        await page.open(url + path)
        # A phone widens its viewport to what overflows: both must still be what was requested.
        wide = "[innerWidth, Math.max(innerWidth, document.scrollingElement.scrollWidth)]"
        assert await page.evaluate(wide) == [width, width]


@pytest.mark.parametrize("width", [390, 1300])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_all_text_is_readable(browser: Browser, scheme: str, width: int) -> None:
    async with served() as url, browser.page() as page:
        await page.viewport(width, 800)
        await page.colour_scheme(scheme)
        for path in PAGES.values():
            await page.open(url + path)
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
    row = consumer(HOSTILE, account=HOSTILE, stream=HOSTILE, leader=HOSTILE)
    signals = Signals(consumers={(HOSTILE, HOSTILE, HOSTILE): held(("stalled", 9.0))})
    poller = polled(row, consumer("plain"), signals=signals)
    async with opened(browser, "consumers", poller) as page:
        assert await page.evaluate(NAMES) == [HOSTILE, "plain"]
        await page.click("input[type=search]")
        await page.type_text("</script>")
        async with page.reloaded():
            await page.press("Enter")
        assert await page.evaluate(NAMES) == [HOSTILE]
        shape = "[...document.querySelectorAll('.list tr')].map(r => r.cells.length)"
        assert await page.evaluate(shape) == [10, 10]
        await follow(page, ".list tbody a")
        assert HOSTILE in await page.evaluate("document.querySelector('h1').textContent")
        assert await page.evaluate("document.querySelectorAll('img').length") == 0


async def test_without_script_sort_search_and_links_work(browser: Browser) -> None:
    async with served() as url, browser.page() as page:
        await page.without_script()
        await page.open(url + "consumers?sort=-pending")
        assert (await page.evaluate(NAMES))[:2] == ["thousands", "push"]
        await page.click("input[type=search]")
        await page.type_text("ORDERS")
        await follow(page, "form button")
        assert await page.evaluate(NAMES) == ["thousands", "again", "stuck", "gone"]
        dead = "[...document.querySelectorAll('footer button, footer input')].filter(e => e.checkVisibility()).length"
        assert await page.evaluate(dead) == 0


async def test_refreshing_is_off_until_requested_and_survives_a_reload(browser: Browser) -> None:
    async with served() as url, browser.page() as page:
        # Timers are kept for the test to fire; the test does not wait fifteen seconds.
        await page.before_load("window.timers = []; setTimeout = (f, ms) => timers.push([f, ms])")
        await page.open(url)
        assert await page.evaluate("timers.length") == 0
        await page.click("#refresh")
        assert await page.evaluate("[location.hash, timers[0][1]]") == ["#refresh", 15000]
        async with page.reloaded():
            await page.evaluate("timers[0][0]()")
        assert await page.evaluate("document.getElementById('refresh').checked") is True
        assert await page.evaluate("timers.length") == 1


async def test_a_page_left_open_shows_that_it_is_old(browser: Browser) -> None:
    async with served() as url, browser.page() as page:
        await page.before_load("window.ticks = []; setInterval = (f) => ticks.push(f)")
        await page.open(url)
        visible = "document.querySelector('.old').checkVisibility()"
        age = "document.getElementById('age').textContent"
        await page.evaluate("window.began = Date.now(); Date.now = () => began + 44000; ticks[0]()")
        assert [await page.evaluate(visible), await page.evaluate(age)] == [False, ", 44 s ago"]
        await page.evaluate("Date.now = () => began + 125000; ticks[0]()")
        assert [await page.evaluate(visible), await page.evaluate(age)] == [True, ", 2 min ago"]
