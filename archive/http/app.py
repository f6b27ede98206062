"""The HTTP application: write endpoint, /metrics, health and readiness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import web

from archive.http.write_endpoint import WriteEndpoint
from archive.self_metrics import CONTENT_TYPE, SelfMetrics
from archive.settings.config import WebSettings
from streamgauge.serving.settings.server import ServerSettings
from streamgauge.serving.web.routes import add_health, add_redirect_to_prefix

WRITE_PATH: Final = "/api/v1/write"
DEFAULT_WEB: Final = WebSettings()
_ROUTES: Final = (
    ("POST", WRITE_PATH, "Prometheus remote write, 1.0 and 2.0"),
    ("GET", "/-/healthy", "200 while the process is healthy"),
    ("GET", "/-/ready", "200 while it accepts samples"),
)


def make_app(
    endpoint: WriteEndpoint,
    metrics: SelfMetrics,
    trouble: Callable[[], str],
    unhealthy: Callable[[], str],
    served: ServerSettings = DEFAULT_WEB,
) -> web.Application:
    """`trouble` is why no samples are accepted, `unhealthy` why the process needs a restart."""
    app = web.Application(client_max_size=endpoint.max_body)
    write_path, metrics_path = served.route(WRITE_PATH), served.route(served.telemetry_path)
    index_text = _index(served)

    async def index(_: web.Request) -> web.Response:
        return web.Response(text=index_text)

    async def own_metrics(_: web.Request) -> web.Response:
        text = await asyncio.to_thread(metrics.text)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})

    async def healthy(_: web.Request) -> web.Response:
        return _state(unhealthy(), "healthy")

    async def ready(_: web.Request) -> web.Response:
        return _state("stopping" if endpoint.receiver.stopping else trouble(), "ready")

    async def count(request: web.Request, response: web.StreamResponse) -> None:
        # Not in the handler: authentication errors are responses too.
        if request.path == write_path:
            endpoint.counters.responses[response.status] += 1

    app.router.add_post(write_path, endpoint.handle)
    app.router.add_get(served.route("/"), index)
    app.router.add_get(metrics_path, own_metrics)
    add_health(app, served, healthy, ready)
    add_redirect_to_prefix(app, served)
    app.on_response_prepare.append(count)
    return app


def _index(served: ServerSettings) -> str:
    """The routes, as clients reach them."""
    routes = (*_ROUTES, ("GET", served.telemetry_path, "metrics of this process"))
    base = served.external_url.rstrip("/")
    width = max(len(path) for _, path, _ in routes)
    lines = (f"{method:4} {base}{path:{width}}  {what}" for method, path, what in routes)
    return "\n".join(("streamgauge archive", "", *lines, ""))


def _state(trouble: str, fine: str) -> web.Response:
    return web.Response(status=503 if trouble else 200, text=f"{trouble or fine}\n")
