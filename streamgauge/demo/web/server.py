"""The web server of the demo: start page, faults, notification preview, report."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aiohttp import web

from streamgauge.demo.faults.fault import Fault
from streamgauge.demo.faults.registry import FaultError, FaultRegistry
from streamgauge.demo.web import pages
from streamgauge.demo.web.board_links import asset_board, board_target
from streamgauge.demo.web.notification_preview import NotificationPreview, now
from streamgauge.demo.web.pages import Link

WATCHDOG: Final = "watchdog"  # for machines: not shown


@dataclass
class DemoServer:
    """The state behind the pages, filled while the demo starts, and their handlers."""

    registry: FaultRegistry | None = None
    preview: NotificationPreview = field(default_factory=NotificationPreview)
    links: list[Link] = field(default_factory=list)
    progress: dict[str, str] = field(default_factory=dict)
    report: Path | None = None  # once it is written
    exporter: str = ""  # their addresses, without a slash at the end
    grafana: str | None = None
    archive: str | None = None  # once the history is in it

    async def start_page(self, _: web.Request) -> web.Response:
        faults = self.registry.available if self.registry else []
        return _html(pages.start_page(self.links, faults, self.exporter))

    async def preview_page(self, _: web.Request) -> web.Response:
        return _html(pages.preview_page(self.preview))

    async def board(self, request: web.Request) -> web.Response:
        uid = request.match_info["uid"]
        target = board_target(uid, request.query, self.grafana, self.exporter)
        raise web.HTTPFound(target)

    async def archive_page(self, _: web.Request) -> web.Response:
        if self.archive is None:
            return _html(pages.waiting_page("The archive", "history"))
        raise web.HTTPFound(self.archive)

    async def report_page(self, request: web.Request) -> web.StreamResponse:
        if self.report is None:
            return _html(pages.waiting_page("The monthly report", "report"))
        wanted = request.match_info["name"] or self.report.name
        file = self.report.parent / wanted
        if file.parent != self.report.parent or not await asyncio.to_thread(file.is_file):
            raise web.HTTPNotFound
        return web.FileResponse(file)

    async def state(self, _: web.Request) -> web.Response:
        firing = self.preview.firing()
        faults = self.registry.available if self.registry else []
        return web.json_response(
            {
                "faults": {each.name: self._state_of(each) for each in faults},
                "firing": [self._fired(each) for each in firing],
                "pages": sum(each["severity"] == "critical" for each in firing),
                "tickets": sum(each["severity"] == "warning" for each in firing),
                "messages": len(self.preview.messages) + self.preview.dropped,
                "progress": self.progress,
            }
        )

    async def message(self, request: web.Request) -> web.Response:
        if request.match_info["receiver"] != WATCHDOG:
            self.preview.add_message(request.match_info["receiver"], await request.json(), now())
        return web.Response(text="ok")

    async def alerts(self, request: web.Request) -> web.Response:
        if request.match_info["receiver"] != WATCHDOG:
            self.preview.update_alerts(await request.json())
        return web.Response(text="ok")

    async def break_(self, request: web.Request) -> web.Response:
        return await self._switch(request, broken=True)

    async def fix(self, request: web.Request) -> web.Response:
        return await self._switch(request, broken=False)

    async def _switch(self, request: web.Request, *, broken: bool) -> web.Response:
        _require_same_origin(request)
        if self.registry is None:
            raise web.HTTPServiceUnavailable(text="the workload has not started yet\n")
        try:
            switch = self.registry.break_ if broken else self.registry.fix
            fault = await switch(request.match_info["name"])
        except FaultError as error:
            raise web.HTTPNotFound(text=f"{error}\n") from error
        return web.json_response(self._state_of(fault) | _described(fault))

    def _fired(self, labels: dict[str, str]) -> dict[str, str]:
        place = " > ".join(filter(None, map(labels.get, ("stream", "consumer"))))
        return {
            "name": labels["alertname"],
            "severity": labels["severity"],
            "place": place or labels.get("server", ""),
            "board": asset_board(labels),
            "runbook": f"{self.exporter}/docs/runbooks/{labels['alertname']}",
        }

    def _state_of(self, fault: Fault) -> dict[str, object]:
        firing = self.preview.firing_alerts(fault.alerts, fault.place)
        return {"broken": fault.broken, "firing": firing}


def _described(fault: Fault) -> dict[str, object]:
    return {
        "what": fault.what,
        "place": fault.place,
        "alerts": list(fault.alerts),
        "remedy": fault.remedy,
    }


def _require_same_origin(request: web.Request) -> None:
    """A page of another site in the same browser must not switch faults."""
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"http://{request.host}":
        raise web.HTTPForbidden(text="only the demo's own page may switch faults\n")


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "no-store"})


@asynccontextmanager
async def serving(server: DemoServer, port: int) -> AsyncIterator[str]:
    """The address of the start page."""
    app = web.Application()
    app.add_routes(_routes(server))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def _routes(server: DemoServer) -> Sequence[web.RouteDef]:
    return (
        web.get("/", server.start_page),
        web.get("/notification-preview", server.preview_page),
        web.get("/report/{name:[^/]*}", server.report_page),
        web.get("/archive", server.archive_page),
        web.get("/d/{uid}", server.board),
        web.get("/state.json", server.state),
        web.get("/-/ready", server.state),
        web.post("/notification-preview/{receiver}", server.message),
        web.post("/alerts/{receiver}", server.alerts),
        web.post("/break/{name}", server.break_),
        web.post("/heal/{name}", server.fix),
    )
