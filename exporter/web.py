"""HTTP endpoints: /metrics, the status pages, the reference pages, health and reload."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web

from exporter import catalog
from exporter.exposition.negotiation import accepts_gzip, choose_format
from exporter.exposition.text_format import Exposition, Format, assemble
from exporter.metric import Subject
from exporter.pages.reference.page import (
    REFERENCES,
    docs_page,
    index_page,
    runbook_page,
)
from exporter.pages.reference.runbooks import INDEX, runbooks
from exporter.pages.rendering import DOCS_POLICY, STATUS_POLICY
from exporter.pages.site import ASSETS, TABLES, StatusSite
from exporter.pages.status.report import unwell_report
from exporter.pages.status.unwell import PATH as UNWELL_PATH
from exporter.polling.forecast_file import ForecastFile, ForecastFileState
from exporter.polling.scrape_view import ScrapeView
from exporter.polling.supervisor import Supervisor
from exporter.samples.self_metrics import SelfMetrics, SelfSample
from streamgauge.serving.version import VERSION
from streamgauge.serving.web.connection_limits import ConnectionDrop
from streamgauge.serving.web.routes import add_health, add_redirect_to_prefix, add_reload

SELECTABLE = {
    subject.value: subject
    for subject in (Subject.CONSUMER, Subject.STREAM, Subject.SERVER, Subject.ACCOUNT)
}
NO_DROPS: Final[Mapping[ConnectionDrop, int]] = {}
_VARY = {"Vary": "Accept, Accept-Encoding"}


def make_app(
    supervisor: Supervisor,
    config_source: str,
    dropped_connections: Mapping[ConnectionDrop, int] = NO_DROPS,
    *,
    tls: bool = False,
) -> web.Application:
    pages = _Pages(supervisor, config_source, dropped_connections, tls)
    app = web.Application()
    served = supervisor.settings.web
    app.router.add_get(served.route("/"), pages.overview)
    app.router.add_get(served.route(f"/{{name:{'|'.join(TABLES)}}}"), pages.table)
    app.router.add_get(served.route(f"/{{name:{'|'.join(ASSETS)}}}"), pages.asset)
    app.router.add_get(served.route(served.telemetry_path), pages.metrics)
    app.router.add_get(served.route("/docs"), pages.docs_index)
    app.router.add_get(served.route("/docs/"), pages.docs_index)
    app.router.add_get(served.route(UNWELL_PATH), pages.unwell)
    app.router.add_get(served.route("/docs/{name}"), pages.docs)
    app.router.add_get(served.route("/docs/runbooks/{name:[A-Za-z]*}"), pages.runbook)
    add_health(app, served, pages.healthy, pages.ready)
    add_reload(app, served, pages.reload)
    add_redirect_to_prefix(app, served)
    return app


class _Pages:
    def __init__(
        self,
        supervisor: Supervisor,
        config_source: str,
        dropped_connections: Mapping[ConnectionDrop, int],
        tls: bool,
    ) -> None:
        served = supervisor.settings.web
        urls = (served.external_url.rstrip("/"), served.grafana_url.rstrip("/"))
        self._addresses = (*urls, "https" if tls else "http")
        self._supervisor = supervisor
        self._dropped_connections = dropped_connections
        self._site = StatusSite(supervisor, config_source)
        self._forecasts = ForecastFile()

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        unknown = [name for name in request.query if name != "collect[]"]
        chosen = request.query.getall("collect[]", [])
        unknown += [f"collect[]={name}" for name in chosen if name not in SELECTABLE]
        if unknown:
            names = ", ".join(SELECTABLE)
            text = f"unknown parameter {unknown[0]}: collect[] takes {names}\n"
            return web.Response(status=400, text=text)
        subjects = frozenset(SELECTABLE[name] for name in chosen) if chosen else None
        fmt = choose_format(request.headers.get("Accept", ""))
        scrape_view = self._supervisor.scrape_view()
        forecasts, live = await asyncio.to_thread(self._live, scrape_view, fmt)
        blocks = [*scrape_view.blocks(), forecasts.blocks(scrape_view.now)]
        exposition = assemble(blocks, live, fmt, subjects)
        if accepts_gzip(request.headers.get("Accept-Encoding", "")):
            return _compressed(exposition)
        return await _plain(request, exposition)

    def _live(self, scrape_view: ScrapeView, fmt: Format) -> tuple[ForecastFileState, bytes]:
        """Reads /proc and the forecast file, which may block: runs in a thread."""
        forecasts = self._forecasts.refresh(self._supervisor.settings.forecasts)
        served = _Own(scrape_view, forecasts, self._dropped_connections, self._addresses)
        own = SelfMetrics(served, VERSION, platform.python_version())
        return forecasts, own.text(fmt)

    async def overview(self, _: web.Request) -> web.Response:
        return _page(await asyncio.to_thread(self._site.overview), STATUS_POLICY)

    async def table(self, request: web.Request) -> web.Response:
        name, query = request.match_info["name"], request.query
        status, html = await asyncio.to_thread(self._site.table, name, query)
        return _page(html, STATUS_POLICY, status)

    async def asset(self, request: web.Request) -> web.Response:
        kind, query = request.match_info["name"], request.query
        status, html = await asyncio.to_thread(self._site.asset, kind, query)
        return _page(html, STATUS_POLICY, status)

    async def unwell(self, _: web.Request) -> web.Response:
        body = await asyncio.to_thread(self._unwell)
        return web.Response(body=body, content_type="application/json")

    def _unwell(self) -> bytes:
        return msgspec.json.encode(unwell_report(self._site.view()))

    async def docs(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in REFERENCES:
            known = ", ".join(f"/docs/{each}" for each in REFERENCES)
            return web.Response(status=404, text=f"unknown page: the pages are {known}\n")
        path = self._supervisor.settings.web.telemetry_path
        return _page(await asyncio.to_thread(docs_page, name, path), DOCS_POLICY)

    async def docs_index(self, request: web.Request) -> web.Response:
        if not request.path.endswith("/"):  # links of the page are relative to it
            raise web.HTTPMovedPermanently("docs/")
        path = self._supervisor.settings.web.telemetry_path
        return _page(await asyncio.to_thread(index_page, path), DOCS_POLICY)

    async def runbook(self, request: web.Request) -> web.Response:
        name = request.match_info["name"] or INDEX
        if name not in await asyncio.to_thread(runbooks):
            return web.Response(status=404, text="unknown runbook: /docs/ lists all of them\n")
        path = self._supervisor.settings.web.telemetry_path
        return _page(await asyncio.to_thread(runbook_page, name, path), DOCS_POLICY)

    async def healthy(self, _: web.Request) -> web.Response:
        dead = self._supervisor.dead()
        if dead:
            return web.Response(status=503, text=f"polling ended for {', '.join(dead)}\n")
        return web.Response(text="healthy\n")

    async def ready(self, _: web.Request) -> web.Response:
        if not self._supervisor.ready():
            return web.Response(status=503, text="the first poll has not finished yet\n")
        return web.Response(text="ready\n")

    async def reload(self) -> tuple[bool, str]:
        done = await self._supervisor.reload()
        return done.ok, done.text


@dataclass(frozen=True, slots=True)
class _Own:
    """The exporter's own samples at one scrape."""

    scrape_view: ScrapeView
    forecasts: ForecastFileState
    dropped_connections: Mapping[ConnectionDrop, int]
    addresses: tuple[str, ...]  # labels of WEB_INFO

    def self_samples(self) -> Iterator[SelfSample]:
        yield SelfSample(catalog.WEB_INFO, self.addresses, 1)
        yield from self.scrape_view.self_samples()
        yield from self.forecasts.self_samples(self.scrape_view.now)
        for reason in ConnectionDrop:
            count = self.dropped_connections.get(reason, 0)
            yield SelfSample(catalog.HTTP_DROPPED_CONNECTIONS, (reason,), count)


def _page(html: str, policy: str, status: int = 200) -> web.Response:
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return web.Response(text=html, content_type="text/html", headers=headers, status=status)


def _compressed(exposition: Exposition) -> web.Response:
    headers = {"Content-Type": exposition.format.content_type, "Content-Encoding": "gzip"}
    return web.Response(body=exposition.gzip_body(), headers=headers | _VARY)


async def _plain(request: web.Request, exposition: Exposition) -> web.StreamResponse:
    """Decompressed in chunks: the whole text may be hundreds of megabytes."""
    response = web.StreamResponse(headers={"Content-Type": exposition.format.content_type} | _VARY)
    response.content_length = exposition.size
    await response.prepare(request)
    if request.method != "HEAD":
        for chunk in exposition.plain_chunks():
            await response.write(chunk)
            # With a fast client write() never waits: let other tasks run.
            await asyncio.sleep(0)
    await response.write_eof()
    return response
