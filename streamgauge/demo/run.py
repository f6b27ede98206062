"""One run of the demo: starts one part after the other, watches them, and cleans up."""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamgauge.demo.actors.context import UNHEARD
from streamgauge.demo.console import guide, say
from streamgauge.demo.faults.registry import BROKEN_AT_FIRST
from streamgauge.demo.nats_server.clock_proxy import WrongClock, nats_with_clock
from streamgauge.demo.nats_server.cluster import NatsCluster
from streamgauge.demo.nats_server.options import NatsOptions, Ports, sample_accounts
from streamgauge.demo.nats_server.server import NatsServer, PortTakenError
from streamgauge.demo.pipeline import services
from streamgauge.demo.pipeline.alerting import alertmanager_command, write_alertmanager, write_rules
from streamgauge.demo.pipeline.grafana import HOW as NO_GRAFANA
from streamgauge.demo.pipeline.grafana import Engine, find_engine, grafana
from streamgauge.demo.pipeline.history_and_report import Past
from streamgauge.demo.pipeline.services import Wiring
from streamgauge.demo.processes.child import Child, ChildError
from streamgauge.demo.processes.ports import free_ports, is_free
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import Programs
from streamgauge.demo.processes.programs import prometheus as find_prometheus
from streamgauge.demo.web.client import findable
from streamgauge.demo.web.pages import Place
from streamgauge.demo.web.server import RUNBOOKS, Front, serving
from streamgauge.demo.workload import Workload, workload

NATS_PORTS: Final = Ports(client=4222, monitor=8222, cluster=6222)
PORTS: Final = {
    "start page": 7770,
    "exporter": 7778,
    "archive": 7779,
    "prometheus": 9090,
    "alertmanager": 9093,
    "grafana": 3000,
}
DEFAULT_SPEED: Final = 30.0


class WorkloadError(Exception):
    """An actor of the workload failed."""


@dataclass(frozen=True)
class Plan:
    """What the visitor asked for."""

    nodes: int = 1
    fixed_ports: bool = True
    seconds: float | None = None
    prometheus: bool = True
    past: bool = True
    broken: tuple[str, ...] = BROKEN_AT_FIRST
    speed: float = DEFAULT_SPEED

    async def port(self, name: str) -> int:
        wanted = PORTS[name]
        if self.fixed_ports and await asyncio.to_thread(is_free, wanted):
            return wanted
        return (await asyncio.to_thread(free_ports, 1))[0]


async def until_told(plan: Plan) -> None:
    """A signal cancels the demo wherever it is; the way out cleans up."""
    demo = asyncio.create_task(_demo(plan))
    told = False

    def stop() -> None:
        nonlocal told
        # Once: a second Ctrl-C must not cut the cleaning up short.
        if not told:
            told = True
            demo.cancel()
            say(sys.stdout, "\nstopping")

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, stop)
    await asyncio.wait({demo})
    if not demo.cancelled():
        demo.result()
    say(sys.stdout, "stopped, nothing left behind")


async def _demo(plan: Plan) -> None:
    """From its start on, whoever ends by itself ends the demo."""
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as watch:
        folder = await stack.enter_async_context(_temporary_folder())
        run = Run(plan, folder, stack, watch, Front())
        await run.start()
        places, cast = run.front.places, run.front.cast
        broken = [each.name for each in cast.faults.values() if each.broken] if cast else []
        bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        say(sys.stdout, guide(places, broken, bold=bold))
        await asyncio.wait(run.watchers, timeout=plan.seconds)
        for watcher in run.watchers:
            watcher.cancel()


@dataclass
class Run:
    """One part after the other; each is watched as soon as it is there."""

    plan: Plan
    folder: Path
    stack: AsyncExitStack
    group: asyncio.TaskGroup
    front: Front

    def __post_init__(self) -> None:
        self.watchers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        port = await self.plan.port("start page")
        address = await self.stack.enter_async_context(serving(self.front, port))
        self._place("Start page", f"{address}/", "this page")
        clock = WrongClock()
        with _step("nats-server"):
            servers = await self._servers()
        first = servers.nodes[0] if isinstance(servers, NatsCluster) else servers
        clock.server = first.name
        await self._start_workload(servers, clock)
        through = await self.stack.enter_async_context(nats_with_clock(first.ports.client, clock))
        exporter = await self._start_exporter(through)
        if self.plan.prometheus:
            await self._start_watching(exporter, address)
        self._place("NATS", first.url, "user app, password app; system account: sys, sys")
        self._place("NATS monitor", f"{first.monitor_url}/", "what the server says of itself")
        self.stack.enter_context(findable(address))

    async def _servers(self) -> NatsServer | NatsCluster:
        options = NatsOptions(server_name="demo", accounts=sample_accounts())
        if self.plan.nodes > 1:
            cluster = NatsCluster(self.plan.nodes, options=options)
            return await self.stack.enter_async_context(cluster)
        server = await self._one_server(options)
        self._watch(server)
        return server

    async def _one_server(self, options: NatsOptions) -> NatsServer:
        if self.plan.fixed_ports and await asyncio.to_thread(_all_free, NATS_PORTS):
            try:
                fixed = NatsServer(options=options, ports=NATS_PORTS)
                return await self.stack.enter_async_context(fixed)
            except PortTakenError:
                say(sys.stdout, "nats-server: its ports were taken meanwhile, using others")
        return await self.stack.enter_async_context(NatsServer(options=options))

    async def _start_workload(self, servers: NatsServer | NatsCluster, clock: WrongClock) -> None:
        cluster = servers if isinstance(servers, NatsCluster) else None
        urls = servers.urls if isinstance(servers, NatsCluster) else [servers.url]
        actors = workload(urls, "app", "app", cluster=cluster, clock=clock, broken=self.plan.broken)
        with _step("workload"):
            try:
                work = await self.stack.enter_async_context(actors)
            except UNHEARD as error:
                raise WorkloadError(f"the workload cannot begin: {error}") from error
        self.front.cast = work.cast
        self.watchers.append(self.group.create_task(_report_failure(work)))

    async def _start_exporter(self, nats_url: str) -> int:
        with _step("exporter"):
            port = await self.plan.port("exporter")
            child = services.exporter(self.folder, port, nats_url)
            self._watch(await self.stack.enter_async_context(child))
        address = f"http://127.0.0.1:{port}/"
        self._place("Status page", address, "look here first: verdicts, since when, and why")
        self._place("Metrics", f"{address}metrics", "what Prometheus gets")
        return port

    async def _start_watching(self, exporter: int, front: str) -> None:
        """Prometheus with our rules, Alertmanager with the phone, Grafana and the past where they can
        be had."""
        programs = await asyncio.to_thread(find_prometheus)
        if programs is None:
            say(sys.stdout, "prometheus: left out, it cannot be had here")
            self._place("Prometheus", None, "cannot be had on this machine")
            return
        engine = await asyncio.to_thread(find_engine)
        grafana_port = await self.plan.port("grafana") if engine else None
        rules = self.folder / "rules"
        await asyncio.to_thread(
            write_rules,
            rules,
            self.plan.speed,
            runbooks=f"{front}/runbooks" if RUNBOOKS.is_dir() else None,
            boards=f"http://127.0.0.1:{grafana_port}" if grafana_port else None,
        )
        manager = await self._start_alertmanager(front)
        archive_port = await self.plan.port("archive") if self.plan.past else None
        archive = f"127.0.0.1:{archive_port}" if archive_port else None
        wiring = Wiring(exporter, rules, manager, archive)
        prometheus = await self._start_prometheus(programs, wiring)
        if engine and grafana_port:
            await self._start_grafana(engine, grafana_port, prometheus)
        else:
            self._place("Grafana", None, NO_GRAFANA)
        if archive_port:
            self._start_past(archive_port, front)

    async def _start_alertmanager(self, front: str) -> str | None:
        try:
            await asyncio.to_thread(alertmanager_command)
        except ProgramMissingError as error:
            say(sys.stdout, f"alertmanager: left out, {error}")
            self._place("Phone", None, "needs Alertmanager, which cannot be had here")
            return None
        with _step("alertmanager"):
            config = self.folder / "alertmanager.yml"
            await asyncio.to_thread(write_alertmanager, config, front)
            port = await self.plan.port("alertmanager")
            child = services.alertmanager(self.folder, config, port)
            self._watch(await self.stack.enter_async_context(child))
        self._place("Phone", f"{front}/phone", "what reaches a person: pages and tickets")
        self._place("Alertmanager", f"http://127.0.0.1:{port}/", "groups, routes, inhibitions")
        return f"127.0.0.1:{port}"

    async def _start_prometheus(self, programs: Programs, wiring: Wiring) -> str:
        with _step("prometheus"):
            port = await self.plan.port("prometheus")
            child = services.prometheus(programs, self.folder, port, wiring)
            self._watch(await self.stack.enter_async_context(child))
        address = f"http://127.0.0.1:{port}"
        self._place("Prometheus", f"{address}/", "our rules with shortened waits: see /alerts")
        return address

    async def _start_grafana(self, engine: Engine, port: int, prometheus: str) -> None:
        try:
            with _step("grafana"):
                child = grafana(engine, self.folder, port, prometheus)
                self._watch(await self.stack.enter_async_context(child))
        except (ChildError, ProgramMissingError) as error:
            # All else works without it: an image that cannot be pulled is no reason to end.
            say(sys.stdout, f"grafana: left out, {error}")
            self._place("Grafana", None, NO_GRAFANA)
            return
        self._place("Grafana", f"http://127.0.0.1:{port}/dashboards", "seven boards, provisioned")

    def _start_past(self, archive_port: int, front: str) -> None:
        """In the background: it takes a minute or two, and the living parts are there already."""
        past = Past(self.folder, archive_port, self.front, lambda line: say(sys.stdout, line))
        archive = f"http://127.0.0.1:{archive_port}/metrics"
        self._place("Archive", archive, "remote write into Parquet, after sixty days", "archive")
        self._place("Report", f"{front}/report/", "the monthly capacity report", "report")

        async def live() -> None:
            child = await past.live_through(self.stack)
            if child is not None:
                await _report_end(child)
            await asyncio.Event().wait()

        self.watchers.append(self.group.create_task(live()))

    def _watch(self, child: Child | NatsServer) -> None:
        self.watchers.append(self.group.create_task(_report_end(child)))

    def _place(self, name: str, address: str | None, what: str, progress: str = "") -> None:
        self.front.places.append(Place(name, address, what, progress))


@contextmanager
def _step(name: str) -> Iterator[None]:
    say(sys.stdout, f"{name}: starting")
    started = time.monotonic()
    yield
    say(sys.stdout, f"{name}: ready after {time.monotonic() - started:.1f} s")


@asynccontextmanager
async def _temporary_folder() -> AsyncIterator[Path]:
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="streamgauge-demo-"))
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _all_free(ports: Ports) -> bool:
    return is_free(ports.client) and is_free(ports.monitor)


async def _report_end(child: Child | NatsServer) -> None:
    raise await child.failure(f"ended with exit code {await child.ended()}")


async def _report_failure(work: Workload) -> None:
    await asyncio.wait({work.ended})
    error: BaseException | None = work.ended.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    raise WorkloadError(f"the workload failed: {type(error).__name__}: {error}") from error
