"""Routes that every server of ours adds: the way to its prefix, and the reload."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from streamgauge.serving.settings.server import ServerSettings

_NOT_ENABLED = (
    "the lifecycle API is not enabled: start with --web.enable-lifecycle, or reload with SIGHUP\n"
)


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

    async def handle(_: web.Request) -> web.Response:
        if not settings.enable_lifecycle:
            return web.Response(status=403, text=_NOT_ENABLED)
        succeeded, text = await reload()
        return web.Response(status=200 if succeeded else 500, text=f"{text}\n")

    path = settings.route("/-/reload")
    app.router.add_post(path, handle)
    app.router.add_put(path, handle)
