"""The pages of the demo while its parts start: nothing is refused, every link leads on."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import aiohttp
import pytest_asyncio

from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.web.pages import Link
from streamgauge.demo.web.server import DemoServer, serving

ALERT = {
    "alertname": "JetStreamConsumerAckPendingFull",
    "severity": "critical",
    "system": "demo",
    "account": "APP",
    "stream": "PAYMENTS",
    "consumer": "stuck",
}


@pytest_asyncio.fixture
async def demo() -> AsyncIterator[tuple[DemoServer, str]]:
    server = DemoServer(exporter="http://127.0.0.1:7778")
    async with serving(server, free_ports(1)[0]) as address:
        yield server, address


async def _location(url: str) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, allow_redirects=False) as answer,
    ):
        return answer.headers.get("Location", f"{answer.status}: {await answer.text()}")


async def test_the_archive_is_a_page_until_the_history_is_in_it(
    demo: tuple[DemoServer, str],
) -> None:
    server, address = demo
    waiting = await _location(f"{address}/archive")
    assert waiting.startswith("200: ")
    assert 'data-text="progress-history"' in waiting
    server.archive = "http://127.0.0.1:7779/metrics"
    assert await _location(f"{address}/archive") == server.archive


async def test_a_board_link_follows_grafana(demo: tuple[DemoServer, str]) -> None:
    server, address = demo
    link = f"{address}/d/sg-stream?var-system=demo&var-account=APP&var-stream=ORDERS"
    page = "http://127.0.0.1:7778/stream?system=demo&account=APP&stream=ORDERS"
    assert await _location(link) == page
    server.grafana = "http://127.0.0.1:3000"
    assert await _location(link) == link.replace(address, server.grafana)


async def test_what_fires_is_listed_with_its_board_and_runbook(
    demo: tuple[DemoServer, str],
) -> None:
    server, address = demo
    server.preview.update_alerts(
        {"groupKey": "g", "alerts": [{"status": "firing", "labels": ALERT}]}
    )
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{address}/state.json") as answer,
    ):
        (fired,) = (await answer.json())["firing"]
    assert fired["place"] == "PAYMENTS > stuck"
    assert fired["board"].startswith("/d/sg-consumer?")
    assert fired["runbook"] == (
        "http://127.0.0.1:7778/docs/runbooks/JetStreamConsumerAckPendingFull"
    )


async def test_only_what_a_browser_opens_is_a_link(demo: tuple[DemoServer, str]) -> None:
    server, address = demo
    server.links += [Link("NATS", "nats://127.0.0.1:4222", ""), Link("Report", "http://x/", "")]
    page = await _location(f"{address}/")
    assert "<b>NATS</b><code>nats://127.0.0.1:4222</code>" in page
    assert '<a href="http://x/">Report</a>' in page


async def test_the_start_page_suggests_five_clicks(demo: tuple[DemoServer, str]) -> None:
    _, address = demo
    page = await _location(f"{address}/")
    (path,) = re.findall(r"<ol>(.*)</ol>", page)
    assert len(re.findall(r'<li><a href="[^"]+">', path)) == 5
