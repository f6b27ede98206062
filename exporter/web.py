"""HTTP: /metrics, the status page, the references, and what looks after the process."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Iterator
from dataclasses import dataclass

from aiohttp import web

from exporter.exposition.negotiation import accepts_gzip, choose_format
from exporter.exposition.text_format import Exposition, Format, assemble
from exporter.metric import Subject
from exporter.pages.reference.page import REFERENCES, docs_page, docs_policy
from exporter.pages.status.page import content_security_policy, status_page
from exporter.pages.status.view_builder import status_view
from exporter.polling.forecast_file import ForecastFile, Look
from exporter.polling.scrape_view import ScrapeView
from exporter.polling.supervisor import Watch
from exporter.samples.self_metrics import SelfMetrics, SelfSample
from streamgauge.serving.version import VERSION
from streamgauge.serving.web.routes import add_redirect_to_prefix, add_reload

SELECTABLE = {
    subject.value: subject
    for subject in (Subject.CONSUMER, Subject.STREAM, Subject.SERVER, Subject.ACCOUNT)
}
_VARY = {"Vary": "Accept, Accept-Encoding"}


def make_app(watch: Watch, config_source: str) -> web.Application:
    pages = _Pages(watch, config_source)
    app = web.Application()
    served = watch.settings.web
    app.router.add_get(served.route("/"), pages.status)
    app.router.add_get(served.route(served.telemetry_path), pages.metrics)
    app.router.add_get(served.route("/docs/{name}"), pages.docs)
    app.router.add_get(served.route("/-/healthy"), pages.healthy)
    app.router.add_get(served.route("/-/ready"), pages.ready)
    add_reload(app, served, pages.reload)
    add_redirect_to_prefix(app, served)
    return app


class _Pages:
    def __init__(self, watch: Watch, config_source: str) -> None:
        self._watch = watch
        self._config_source = config_source
        self._forecasts = ForecastFile()

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        unknown = [name for name in request.query if name != "collect[]"]
        chosen = request.query.getall("collect[]", [])
        unknown += [f"collect[]={name}" for name in chosen if name not in SELECTABLE]
        if unknown:
            words = ", ".join(SELECTABLE)
            text = f"unknown parameter {unknown[0]}: collect[] takes {words}\n"
            return web.Response(status=400, text=text)
        subjects = frozenset(SELECTABLE[name] for name in chosen) if chosen else None
        fmt = choose_format(request.headers.get("Accept", ""))
        moment = self._watch.moment()
        look, live = await asyncio.to_thread(self._live, moment, fmt)
        blocks = [*moment.blocks(), look.blocks(moment.now)]
        exposition = assemble(blocks, live, fmt, subjects)
        if accepts_gzip(request.headers.get("Accept-Encoding", "")):
            return _compressed(exposition)
        return await _plain(request, exposition)

    def _live(self, moment: ScrapeView, fmt: Format) -> tuple[Look, bytes]:
        """Reads /proc and a file, which a busy machine may take its time for: runs in a thread."""
        look = self._forecasts.look(self._watch.settings.forecasts)
        own = SelfMetrics(_Own(moment, look), VERSION, platform.python_version())
        return look, own.text(fmt)

    async def status(self, _: web.Request) -> web.Response:
        view = await asyncio.to_thread(status_view, self._watch, self._config_source)
        return _page(await asyncio.to_thread(status_page, view), content_security_policy())

    async def docs(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in REFERENCES:
            known = ", ".join(f"/docs/{each}" for each in REFERENCES)
            return web.Response(status=404, text=f"no such page, there are {known}\n")
        return _page(
            await asyncio.to_thread(docs_page, name, self._watch.settings.web.telemetry_path),
            docs_policy(),
        )

    async def healthy(self, _: web.Request) -> web.Response:
        dead = self._watch.dead()
        if dead:
            return web.Response(status=503, text=f"polling ended for {', '.join(dead)}\n")
        return web.Response(text="healthy\n")

    async def ready(self, _: web.Request) -> web.Response:
        if not self._watch.ready():
            return web.Response(status=503, text="the first poll is not over yet\n")
        return web.Response(text="ready\n")

    async def reload(self) -> tuple[bool, str]:
        done = await self._watch.reload()
        return done.ok, done.text


@dataclass(frozen=True, slots=True)
class _Own:
    """What the exporter says of itself at one moment."""

    moment: ScrapeView
    look: Look

    def self_samples(self) -> Iterator[SelfSample]:
        yield from self.moment.self_samples()
        yield from self.look.self_samples(self.moment.now)


def _page(html: str, policy: str) -> web.Response:
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return web.Response(text=html, content_type="text/html", headers=headers)


def _compressed(exposition: Exposition) -> web.Response:
    headers = {"Content-Type": exposition.format.content_type, "Content-Encoding": "gzip"}
    return web.Response(body=exposition.gzip_body(), headers=headers | _VARY)


async def _plain(request: web.Request, exposition: Exposition) -> web.StreamResponse:
    """Unpacked piece by piece: the whole text may be hundreds of megabytes."""
    response = web.StreamResponse(headers={"Content-Type": exposition.format.content_type} | _VARY)
    response.content_length = exposition.size
    await response.prepare(request)
    if request.method != "HEAD":
        for chunk in exposition.plain_chunks():
            await response.write(chunk)
            # A reader as fast as we are never makes write() wait, and others want a turn.
            await asyncio.sleep(0)
    await response.write_eof()
    return response
