"""HTTP: /metrics, the status page, and the endpoints of whoever looks after the process."""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import Awaitable, Callable

from aiohttp import web
from prometheus_client.exposition import choose_encoder

from exporter.exposition import Exposition, Format, assemble
from exporter.metric import Subject
from exporter.samples.self_metrics import SelfMetrics
from exporter.status import status_view
from exporter.status_page import content_security_policy, status_page
from exporter.version import VERSION
from exporter.watch import Watch

logger = logging.getLogger(__name__)

SELECTABLE = {
    subject.value: subject
    for subject in (Subject.CONSUMER, Subject.STREAM, Subject.SERVER, Subject.ACCOUNT)
}
_ANSWER_PATHS = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(watch: Watch, config_source: str) -> web.Application:
    pages = _Pages(watch, config_source)
    app = web.Application()
    app.router.add_get("/", pages.status)
    app.router.add_get("/metrics", pages.metrics)
    app.router.add_get("/-/healthy", pages.healthy)
    app.router.add_get("/-/ready", pages.ready)
    app.router.add_post("/-/reload", pages.reload)
    app.router.add_put("/-/reload", pages.reload)
    return app


class _Pages:
    def __init__(self, watch: Watch, config_source: str) -> None:
        self._watch = watch
        self._config_source = config_source
        self._self = SelfMetrics(watch, VERSION, platform.python_version())

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        unknown = [name for name in request.query if name != "collect[]"]
        chosen = request.query.getall("collect[]", [])
        unknown += [f"collect[]={name}" for name in chosen if name not in SELECTABLE]
        if unknown:
            words = ", ".join(SELECTABLE)
            text = f"unknown parameter {unknown[0]}: collect[] takes {words}\n"
            return web.Response(status=400, text=text)
        subjects = frozenset(SELECTABLE[name] for name in chosen) if chosen else None
        fmt = negotiate(request.headers.get("Accept", ""))
        exposition = assemble(self._watch.blocks(), self._self.text(fmt), fmt, subjects)
        if accepts_gzip(request.headers.get("Accept-Encoding", "")):
            return _compressed(exposition)
        return await _plain(request, exposition)

    async def status(self, _: web.Request) -> web.Response:
        view = await asyncio.to_thread(status_view, self._watch, self._config_source)
        page = await asyncio.to_thread(status_page, view)
        headers = {
            "Content-Security-Policy": content_security_policy(),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def healthy(self, _: web.Request) -> web.Response:
        dead = self._watch.dead()
        if dead:
            return web.Response(status=503, text=f"polling ended for {', '.join(dead)}\n")
        return web.Response(text="healthy\n")

    async def ready(self, _: web.Request) -> web.Response:
        if not self._watch.ready():
            return web.Response(status=503, text="the first poll is not over yet\n")
        return web.Response(text="ready\n")

    async def reload(self, _: web.Request) -> web.Response:
        problem = await self._watch.reload()
        if problem is not None:
            text = f"not reloaded, the old configuration stays: {problem}\n"
            return web.Response(status=500, text=text)
        return web.Response(text="reloaded\n")


def negotiate(accept: str) -> Format:
    """What the client prefers, by prometheus-client's own reading of the header."""
    _, content_type = choose_encoder(accept)
    return Format.OPENMETRICS if "openmetrics" in content_type else Format.TEXT


def accepts_gzip(header: str) -> bool:
    for part in header.split(","):
        coding, _, parameter = part.strip().partition(";")
        if coding.strip().lower() in ("gzip", "*"):
            return parameter.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _compressed(exposition: Exposition) -> web.Response:
    headers = {"Content-Type": exposition.format.content_type, "Content-Encoding": "gzip"}
    headers["Vary"] = "Accept, Accept-Encoding"
    return web.Response(body=exposition.gzip_body(), headers=headers)


async def _plain(request: web.Request, exposition: Exposition) -> web.StreamResponse:
    """Unpacked piece by piece: the whole text may be hundreds of megabytes."""
    response = web.StreamResponse()
    response.headers["Content-Type"] = exposition.format.content_type
    response.headers["Vary"] = "Accept, Accept-Encoding"
    response.content_length = exposition.size
    await response.prepare(request)
    if request.method != "HEAD":
        for chunk in exposition.plain_chunks():
            await response.write(chunk)
    await response.write_eof()
    return response
