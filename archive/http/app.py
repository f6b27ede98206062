"""The HTTP application: write endpoint, /metrics, health and readiness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import web

from archive.http.write_endpoint import WriteEndpoint
from archive.ingest.receiver import Receiver
from archive.self_metrics import CONTENT_TYPE, ReceiverCounters, SelfMetrics

WRITE_PATH: Final = "/api/v1/write"
_INDEX: Final = f"""\
streamgauge archive

POST {WRITE_PATH}   Prometheus remote write, 1.0 and 2.0
GET  /metrics         metrics of this process
GET  /-/healthy       200 while the process is healthy
GET  /-/ready         200 while it accepts samples
"""


def make_app(
    receiver: Receiver,
    metrics: SelfMetrics,
    counters: ReceiverCounters,
    max_body: int,
    trouble: Callable[[], str],
    unhealthy: Callable[[], str],
) -> web.Application:
    """`trouble` is why no samples are accepted, `unhealthy` why the process needs a restart."""
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
        # Not in the handler: authentication errors are responses too.
        if request.path == WRITE_PATH:
            counters.responses[response.status] += 1

    endpoint = WriteEndpoint(receiver, counters, max_body)
    app.router.add_post(WRITE_PATH, endpoint.handle)
    app.router.add_get("/", index)
    app.router.add_get("/metrics", own_metrics)
    app.router.add_get("/-/healthy", healthy)
    app.router.add_get("/-/ready", ready)
    app.on_response_prepare.append(count)
    return app


def _state(trouble: str, fine: str) -> web.Response:
    return web.Response(status=503 if trouble else 200, text=f"{trouble or fine}\n")
