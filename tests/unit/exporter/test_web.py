"""HTTP around a supervisor in memory: negotiation, selection, large responses, and the small pages."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urljoin

import pytest
from aiohttp import ClientResponse, ClientSession
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families as text_families
from support.exporter.status_views import polled

from exporter import catalog
from exporter.exposition.text_format import Block, Column, Format, label_head, render_block
from exporter.metric import Metric
from exporter.polling.loop import SystemPoller
from exporter.polling.scrape_view import ScrapeView
from exporter.polling.state import SystemState
from exporter.polling.supervisor import Reload, Supervisor
from exporter.samples.render import Rendered
from exporter.settings.config import ExporterSettings, WebSettings
from exporter.web import make_app

Client = TestClient[Request, Application]
NOW = 1_794_800_000.0
OWN = {
    f"streamgauge_{name}"
    for name in (
        "build_info",
        "web_info",
        "http_dropped_connections",
        "up",
        "series",
        "series_dropped",
        "history_dropped_assets",
        "snapshot_age_seconds",
        "condition_threshold",
    )
}


def block(metric: Metric, rows: int) -> Block:
    heads = [
        label_head(metric.labels, ("test", *(f"{label}-{row}" for label in metric.labels[1:])))
        for row in range(rows)
    ]
    made = render_block(Column(metric, heads, range(rows)))
    assert made is not None
    return made


@dataclass
class MemorySupervisor:
    """The part of a Watch that the web side sees."""

    pages: tuple[Block, ...] = ()
    is_ready: bool = True
    ended: list[str] = field(default_factory=list)
    response: Reload = field(default_factory=lambda: Reload(True, "reloaded"))
    settings: ExporterSettings = field(default_factory=ExporterSettings)
    pollers: tuple[SystemPoller, ...] = field(
        default_factory=lambda: (cast("SystemPoller", polled()),)
    )
    reload_ok: bool = True

    def scrape_view(self) -> ScrapeView:
        rendered = Rendered(self.pages, sum(page.lines for page in self.pages), 0, 0)
        state = SystemState(45.0, rendered=rendered, last_response=NOW, polls=1, complete=True)
        return ScrapeView(NOW, (("test", state),))

    def dead(self) -> list[str]:
        return self.ended

    def ready(self) -> bool:
        return self.is_ready

    async def reload(self) -> Reload:
        return self.response


SMALL = (
    block(catalog.CONSUMER_NUM_PENDING, 3),
    block(catalog.STREAM_MESSAGES, 2),
    block(catalog.SERVER_UP, 1),
    block(catalog.META_SIZE, 1),
)
NO_ENCODING = {"Accept-Encoding": "identity"}


@pytest.fixture
def supervisor() -> MemorySupervisor:
    return MemorySupervisor(SMALL)


@asynccontextmanager
async def serving(supervisor: MemorySupervisor) -> AsyncIterator[Client]:
    app = make_app(cast("Supervisor", supervisor), "flags")
    async with TestClient(TestServer(app), auto_decompress=False) as made:
        yield made


@pytest.fixture
async def client(supervisor: MemorySupervisor) -> AsyncIterator[Client]:
    async with serving(supervisor) as made:
        yield made


def families(text: str, parse: Callable[[str], Iterable[object]] = text_families) -> set[str]:
    return {name for family in parse(text) if (name := family.name).startswith("streamgauge")}  # type: ignore[attr-defined]


async def test_a_scrape_without_wishes_gets_plain_text(client: Client) -> None:
    response = await client.get("/metrics", headers=NO_ENCODING)
    assert response.status == 200
    assert response.headers["Content-Type"] == Format.TEXT.content_type
    assert response.headers["Vary"] == "Accept, Accept-Encoding"
    assert "Content-Encoding" not in response.headers
    assert (
        families(await response.text())
        == {
            "streamgauge_consumer_num_pending",
            "streamgauge_stream_messages",
            "streamgauge_server_up",
            "streamgauge_meta_size",
        }
        | OWN
    )


async def test_openmetrics_is_given_to_those_who_request_it(client: Client) -> None:
    headers = NO_ENCODING | {"Accept": "application/openmetrics-text;version=1.0.0"}
    response = await client.get("/metrics", headers=headers)
    text = await response.text()
    assert response.headers["Content-Type"] == Format.OPENMETRICS.content_type
    assert text.endswith("\n# EOF\n")
    assert "streamgauge_build" in families(text, openmetrics_families)


async def test_gzip_holds_the_same_bytes(client: Client) -> None:
    packed = await client.get("/metrics", headers={"Accept-Encoding": "gzip"})
    plain = await client.get("/metrics", headers=NO_ENCODING)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == plain.headers["Vary"]
    assert _measured(gzip.decompress(await packed.read())) == _measured(await plain.read())


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_head_has_the_headers_of_get_and_no_body(client: Client, encoding: str) -> None:
    headers = {"Accept-Encoding": encoding}
    head, get = (
        await client.head("/metrics", headers=headers),
        await client.get("/metrics", headers=headers),
    )
    assert head.status == 200
    assert await head.read() == b""
    for name in ("Content-Type", "Vary"):
        assert head.headers[name] == get.headers[name]
    assert int(head.headers["Content-Length"]) > 0


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        (["consumer"], {"consumer_num_pending"}),
        (["stream", "server"], {"stream_messages", "server_up", "meta_size"}),
        (["account"], set()),
    ],
)
async def test_collect_keeps_the_chosen_and_what_the_exporter_shows_of_itself(
    client: Client, chosen: list[str], kept: set[str]
) -> None:
    query = [("collect[]", name) for name in chosen]
    response = await client.get("/metrics", params=query, headers=NO_ENCODING)
    assert families(await response.text()) == {f"streamgauge_{name}" for name in kept} | OWN


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("collect[]=consumers", "collect[]=consumers"),
        ("collect[]=consumer&collect[]=exporter", "collect[]=exporter"),
        ("collect=consumer", "collect"),
        ("collect[]=", "collect[]="),
    ],
)
async def test_a_wish_that_is_not_known_is_refused_with_what_is(
    client: Client, query: str, named: str
) -> None:
    response = await client.get(f"/metrics?{query}")
    assert response.status == 400
    assert await response.text() == (
        f"unknown parameter {named}: collect[] takes consumer, stream, server, account\n"
    )


async def test_a_large_response_blocks_no_other_request(
    supervisor: MemorySupervisor, client: Client
) -> None:
    supervisor.pages = (block(catalog.CONSUMER_NUM_PENDING, 150_000),)
    large = await client.get("/metrics", headers=NO_ENCODING)
    assert int(large.headers["Content-Length"]) > 15_000_000
    first = await large.content.readany()
    # Its body is still under way, and no client reads it.
    assert (await client.get("/-/healthy")).status == 200
    packed = await client.get("/metrics", headers={"Accept-Encoding": "gzip"})
    assert _measured(gzip.decompress(await packed.read())) == _measured(first + await large.read())


async def test_a_reader_who_leaves_early_is_no_error(
    supervisor: MemorySupervisor, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    supervisor.pages = (block(catalog.CONSUMER_NUM_PENDING, 150_000),)
    async with ClientSession() as reader:
        response = await reader.get(client.make_url("/metrics"), headers=NO_ENCODING)
        await response.content.readany()
        response.close()
    assert (await client.get("/-/healthy")).status == 200
    assert caplog.records == []


async def test_health_and_readiness_speak_of_the_pollers(
    supervisor: MemorySupervisor, client: Client
) -> None:
    assert await _body(client.get("/-/healthy")) == (200, "healthy\n")
    assert await _body(client.get("/-/ready")) == (200, "ready\n")
    supervisor.ended, supervisor.is_ready = ["edge"], False
    assert await _body(client.get("/-/healthy")) == (503, "polling ended for edge\n")
    assert await _body(client.get("/-/ready")) == (503, "the first poll has not finished yet\n")


async def test_a_reload_needs_the_lifecycle_api(client: Client) -> None:
    status, text = await _body(client.post("/-/reload"))
    assert status == 403
    assert "--web.enable-lifecycle" in text


async def test_a_reload_is_requested_by_post_or_put(supervisor: MemorySupervisor) -> None:
    supervisor.settings = ExporterSettings(web=WebSettings(enable_lifecycle=True))
    async with serving(supervisor) as client:
        await reload_by_post_and_put(supervisor, client)


async def reload_by_post_and_put(supervisor: MemorySupervisor, client: Client) -> None:
    assert await _body(client.post("/-/reload")) == (200, "reloaded\n")
    assert await _body(client.put("/-/reload")) == (200, "reloaded\n")
    refused = await client.get("/-/reload")
    assert (refused.status, refused.headers["Allow"]) == (405, "POST,PUT")
    supervisor.response = Reload(False, "not reloaded: why")
    assert await _body(client.post("/-/reload")) == (500, "not reloaded: why\n")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
async def test_a_page_of_another_site_cannot_reload(
    supervisor: MemorySupervisor, headers: dict[str, str], status: int
) -> None:
    supervisor.settings = ExporterSettings(web=WebSettings(enable_lifecycle=True))
    async with serving(supervisor) as client:
        assert (await client.post("/-/reload", headers=headers)).status == status


@pytest.mark.parametrize(
    "path", ["/", "/consumers", "/streams", "/servers?q=n1", "/docs/metrics", "/docs/configuration"]
)
async def test_pages_come_with_a_strict_policy(client: Client, path: str) -> None:
    response = await client.get(path)
    assert response.status == 200
    assert response.content_type == "text/html"
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "<html" in await response.text()


async def test_the_status_page_links_to_the_references(client: Client) -> None:
    page = await (await client.get("/")).text()
    for link in ("docs/metrics", "docs/configuration", "docs/checks"):
        assert f'href="{link}"' in page
        assert (await client.get(f"/{link}")).status == 200


async def test_an_asset_that_does_not_exist_is_a_page_with_404(client: Client) -> None:
    response = await client.get("/consumer?system=demo&account=A&stream=S&consumer=C")
    assert (response.status, response.content_type) == (404, "text/html")
    assert "consumer A › S › C was not found" in await response.text()


async def test_what_is_unwell_is_json_too(client: Client) -> None:
    report = await (await client.get("/api/unwell")).json()
    assert [(row["kind"], row["what"]) for row in report["rows"]] == [
        ("system", "no usable response")
    ]


async def test_the_runbooks_and_their_index_are_pages(client: Client) -> None:
    for path in ("/docs", "/docs/", "/docs/runbooks/", "/docs/runbooks/JetStreamStreamFull"):
        response = await client.get(path)
        assert (response.status, response.content_type) == (200, "text/html"), path
    assert (await client.get("/docs/runbooks/JetStreamNone")).status == 404


async def test_the_addresses_for_links_are_a_series(supervisor: MemorySupervisor) -> None:
    web = WebSettings(
        external_url="https://nats.example.net/sg/", grafana_url="https://g.example.net"
    )
    supervisor.settings = ExporterSettings(web=web)
    async with serving(supervisor) as client:
        text = await (await client.get("/sg/metrics", headers=NO_ENCODING)).text()
    labels = 'external_url="https://nats.example.net/sg",grafana_url="https://g.example.net"'
    assert f'streamgauge_web_info{{{labels},scheme="http"}} 1.0' in text


async def test_a_page_that_does_not_exist_names_those_that_do(client: Client) -> None:
    status, text = await _body(client.get("/docs/passwd"))
    known = "/docs/metrics, /docs/configuration, /docs/checks"
    assert (status, text) == (404, f"unknown page: the pages are {known}\n")


async def _body(pending: object) -> tuple[int, str]:
    response: ClientResponse = await pending  # type: ignore[misc]
    return response.status, await response.text()


def _measured(body: bytes) -> list[bytes]:
    """Without the lines of the process, which change from scrape to scrape."""
    return [line for line in body.splitlines() if b"process_" not in line]


BEHIND_A_PROXY = WebSettings(
    external_url="https://metrics.example.com/gauge/", telemetry_path="/own/telemetry"
)


async def test_the_path_of_the_external_url_is_the_prefix_of_all_routes(
    supervisor: MemorySupervisor,
) -> None:
    supervisor.settings = ExporterSettings(web=BEHIND_A_PROXY)
    async with serving(supervisor) as client:
        for path in ("/", "/own/telemetry", "/docs/checks", "/-/healthy", "/-/ready"):
            assert (await client.get(f"/gauge{path}")).status == 200, path
        assert (await client.post("/gauge/-/reload")).status == 403
        for path in ("/metrics", "/gauge/metrics", "/-/healthy"):
            assert (await client.get(path)).status == 404, path
        for path in ("/", "/gauge"):
            response = await client.get(path, allow_redirects=False)
            assert (response.status, response.headers["Location"]) == (302, "/gauge/")


@pytest.mark.parametrize("page", ["/gauge/", "/gauge/docs/metrics"])
async def test_every_link_of_a_page_leads_to_a_page_behind_a_prefix(
    supervisor: MemorySupervisor, page: str
) -> None:
    supervisor.settings = ExporterSettings(web=BEHIND_A_PROXY)
    async with serving(supervisor) as client:
        text = await (await client.get(page)).text()
        links = set(re.findall(r'<a href="([^"#:]+)["#]', text))
        assert len(links) > 3
        followed = {link: (await client.get(urljoin(page, link))).status for link in links}
    assert set(followed.values()) == {200}, followed
