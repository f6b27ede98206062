"""The demo's own web server: start page, phone, switchboard, the report when it is there."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aiohttp import web

from streamgauge.demo.faults.fault import Fault
from streamgauge.demo.faults.registry import Cast, CastError
from streamgauge.demo.web import pages
from streamgauge.demo.web.notification_preview import NotificationPreview, now
from streamgauge.demo.web.pages import Place

WATCHDOG: Final = "watchdog"  # for machines: no phone rings
# In a checkout; an installed demo names the files only.
RUNBOOKS: Final = Path(__file__).parents[3] / "docs" / "runbooks"


@dataclass
class Front:
    """What the pages tell; filled in while the demo starts."""

    cast: Cast | None = None
    phone: NotificationPreview = field(default_factory=NotificationPreview)
    places: list[Place] = field(default_factory=list)
    progress: dict[str, str] = field(default_factory=dict)
    report: Path | None = None  # the finished report

    async def start_page(self, _: web.Request) -> web.Response:
        faults = self.cast.playable if self.cast else []
        return _html(pages.start_page(self.places, faults))

    async def phone_page(self, _: web.Request) -> web.Response:
        return _html(pages.phone_page(self.phone))

    async def report_page(self, request: web.Request) -> web.StreamResponse:
        if self.report is None:
            return _html(pages.waiting_page("The monthly report", "report"))
        wanted = request.match_info["name"] or self.report.name
        file = self.report.parent / wanted
        if file.parent != self.report.parent or not await asyncio.to_thread(file.is_file):
            raise web.HTTPNotFound
        return web.FileResponse(file)

    async def runbook(self, request: web.Request) -> web.StreamResponse:
        file = RUNBOOKS / request.match_info["name"]
        if not await asyncio.to_thread(file.is_file):
            raise web.HTTPNotFound
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        return web.FileResponse(file, headers=headers)

    async def state(self, _: web.Request) -> web.Response:
        firing = self.phone.firing()
        faults = self.cast.playable if self.cast else []
        return web.json_response(
            {
                "faults": {each.name: self._told(each) for each in faults},
                "firing": firing,
                "pages": sum(each["severity"] == "critical" for each in firing),
                "tickets": sum(each["severity"] == "warning" for each in firing),
                "messages": len(self.phone.messages) + self.phone.forgotten,
                "progress": self.progress,
            }
        )

    async def message(self, request: web.Request) -> web.Response:
        if request.match_info["receiver"] != WATCHDOG:
            self.phone.take_message(request.match_info["receiver"], await request.json(), now())
        return web.Response(text="ok")

    async def facts(self, request: web.Request) -> web.Response:
        if request.match_info["receiver"] != WATCHDOG:
            self.phone.take_facts(await request.json())
        return web.Response(text="ok")

    async def harm(self, request: web.Request) -> web.Response:
        return await self._turn(request, broken=True)

    async def mend(self, request: web.Request) -> web.Response:
        return await self._turn(request, broken=False)

    async def _turn(self, request: web.Request, *, broken: bool) -> web.Response:
        _refuse_strangers(request)
        if self.cast is None:
            raise web.HTTPServiceUnavailable(text="the workload is not there yet\n")
        try:
            turn = self.cast.harm if broken else self.cast.mend
            fault = await turn(request.match_info["name"])
        except CastError as error:
            raise web.HTTPNotFound(text=f"{error}\n") from error
        return web.json_response(self._told(fault) | _described(fault))

    def _told(self, fault: Fault) -> dict[str, object]:
        firing = self.phone.tells_of(fault.alerts, fault.place)
        return {"broken": fault.broken, "firing": firing}


def _described(fault: Fault) -> dict[str, object]:
    return {
        "what": fault.what,
        "place": fault.place,
        "alerts": list(fault.alerts),
        "remedy": fault.remedy,
    }


def _refuse_strangers(request: web.Request) -> None:
    """Another site's page, open in the same browser, must not be able to press our buttons."""
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"http://{request.host}":
        raise web.HTTPForbidden(text="only from the demo's own page\n")


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "no-store"})


@asynccontextmanager
async def serving(front: Front, port: int) -> AsyncIterator[str]:
    """The address of the start page."""
    app = web.Application()
    app.add_routes(_routes(front))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def _routes(front: Front) -> Sequence[web.RouteDef]:
    return (
        web.get("/", front.start_page),
        web.get("/phone", front.phone_page),
        web.get("/report/{name:[^/]*}", front.report_page),
        web.get("/runbooks/{name:[A-Za-z]+[.]md}", front.runbook),
        web.get("/state.json", front.state),
        web.get("/-/ready", front.state),
        web.post("/phone/{receiver}", front.message),
        web.post("/facts/{receiver}", front.facts),
        web.post("/break/{name}", front.harm),
        web.post("/heal/{name}", front.mend),
    )
