"""The demo's clock proxy, and the same for the monitoring port: a server as if its clock were wrong.

For a server that stands alone that is what its clock being wrong looks like from outside.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from streamgauge.demo.nats_server.clock_proxy import WrongClock, moved_moments, nats_with_clock
from streamgauge.demo.nats_server.message_proxy import HOST

__all__ = ["WrongClock", "http_with_clock", "moved_moments", "nats_with_clock"]


@asynccontextmanager
async def http_with_clock(monitor_url: str, clock: WrongClock) -> AsyncIterator[str]:
    """The URL of the monitoring port, as if the server had this clock."""
    async with aiohttp.ClientSession(monitor_url) as session:

        async def response(request: web.Request) -> web.Response:
            async with session.get(request.rel_url) as response:
                body = moved_moments(await response.read(), clock.ahead)
                kind = response.content_type
                return web.Response(body=body, status=response.status, content_type=kind)

        app = web.Application()
        app.router.add_get("/{path:.*}", response)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, 0)
            await site.start()
            yield f"http://{HOST}:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()
