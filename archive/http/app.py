"""HTTP: the write endpoint, /metrics, and what looks after the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import web

from archive.ingest.receiver import Receiver
from archive.self_metrics import CONTENT_TYPE, ReceiverCounters, SelfMetrics

WRITE_PATH: Final = "/api/v1/write"
_INDEX: Final = f"""\
streamgauge archive

POST {WRITE_PATH}   Prometheus remote write, 1.0 and 2.0
GET  /metrics         about this process
GET  /-/healthy       200 while it works
GET  /-/ready         200 while samples are taken in
"""


def make_app(
    receiver: Receiver,
    metrics: SelfMetrics,
    counters: ReceiverCounters,
    max_body: int,
    trouble: Callable[[], str],
    unhealthy: Callable[[], str],
) -> web.Application:
    """`trouble` says why no samples are taken in, `sick` why the process should be replaced."""
    app = web.Application(client_max_size=max_body)

    async def index(_: web.Request) -> web.Response:
        return web.Response(text=_INDEX)

    async def own_metrics(_: web.Request) -> web.Response:
        text = await asyncio.to_thread(metrics.text)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})

    async def healthy(_: web.Request) -> web.Response:
        return _state(unhealthy(), "healthy")

    async def ready(_: web.Request) -> web.Response:
        return _state("stopping" if receiver.stopping else trouble(), "ready")

    async def count(request: web.Request, response: web.StreamResponse) -> None:
        # Here and not in the handler: refusals at the door are answers too.
        if request.path == WRITE_PATH:
            counters.responses[response.status] += 1

    app.router.add_post(WRITE_PATH, receiver.write)
    app.router.add_get("/", index)
    app.router.add_get("/metrics", own_metrics)
    app.router.add_get("/-/healthy", healthy)
    app.router.add_get("/-/ready", ready)
    app.on_response_prepare.append(count)
    return app


def _state(trouble: str, fine: str) -> web.Response:
    return web.Response(status=503 if trouble else 200, text=f"{trouble or fine}\n")
