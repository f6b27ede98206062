"""Routes that every server of ours adds: the way to its prefix, health and the reload."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from streamgauge.serving.settings.server import ServerSettings

_NOT_ENABLED = (
    "the lifecycle API is not enabled: start with --web.enable-lifecycle, or reload with SIGHUP\n"
)
_CROSS_SITE = "a page of another site cannot reload this server\n"

Handler = Callable[[web.Request], Awaitable[web.Response]]
_HEALTH: Final[web.AppKey[dict[str, Handler]]] = web.AppKey("health", dict)


def add_health(
    app: web.Application, settings: ServerSettings, healthy: Handler, ready: Handler
) -> None:
    app[_HEALTH] = {settings.route("/-/healthy"): healthy, settings.route("/-/ready"): ready}
    for path, handle in app[_HEALTH].items():
        app.router.add_get(path, handle)


def health_app(app: web.Application) -> web.Application:
    """Only the health routes of `app`: for probes that have no password and no certificate."""
    probed = web.Application()
    for path, handle in app[_HEALTH].items():
        probed.router.add_get(path, handle)
    return probed


def add_redirect_to_prefix(app: web.Application, settings: ServerSettings) -> None:
    """Like Prometheus: with a route prefix, / leads to it."""
    prefix = settings.route_prefix
    if not prefix:
        return

    async def redirect(_: web.Request) -> web.Response:
        raise web.HTTPFound(f"{prefix}/")

    app.router.add_get("/", redirect)
    app.router.add_get(prefix, redirect)


def add_reload(
    app: web.Application,
    settings: ServerSettings,
    reload: Callable[[], Awaitable[tuple[bool, str]]],
) -> None:
    """`reload` returns whether it succeeded, and one line about it."""

    async def handle(request: web.Request) -> web.Response:
        if not settings.enable_lifecycle:
            return web.Response(status=403, text=_NOT_ENABLED)
        if _is_cross_site(request):
            return web.Response(status=403, text=_CROSS_SITE)
        succeeded, text = await reload()
        return web.Response(status=200 if succeeded else 500, text=f"{text}\n")

    path = settings.route("/-/reload")
    app.router.add_post(path, handle)
    app.router.add_put(path, handle)


def _is_cross_site(request: web.Request) -> bool:
    """Browsers send these headers; a script or curl sends neither."""
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return True
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc != request.host
