"""One run of the demo: starts its parts in order, waits, and cleans up."""

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

from streamgauge.demo.actors.context import REQUEST_ERRORS
from streamgauge.demo.console import guide, print_line
from streamgauge.demo.nats_server.clock_proxy import WrongClock, nats_with_clock
from streamgauge.demo.nats_server.cluster import NatsCluster
from streamgauge.demo.nats_server.options import NatsOptions, Ports, sample_accounts
from streamgauge.demo.nats_server.server import NatsServer, PortTakenError
from streamgauge.demo.pipeline import services
from streamgauge.demo.pipeline.alerting import alertmanager_command, write_alertmanager, write_rules
from streamgauge.demo.pipeline.grafana import HOW as NO_GRAFANA
from streamgauge.demo.pipeline.grafana import Engine, find_engine, grafana
from streamgauge.demo.pipeline.history_and_report import HistoryRun
from streamgauge.demo.pipeline.services import Wiring
from streamgauge.demo.plan import Plan
from streamgauge.demo.processes.child import Child, ChildError
from streamgauge.demo.processes.ports import is_free
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import Programs
from streamgauge.demo.processes.programs import prometheus as find_prometheus
from streamgauge.demo.web.client import advertised
from streamgauge.demo.web.pages import Link
from streamgauge.demo.web.server import DemoServer, serving
from streamgauge.demo.workload import Workload, workload

NATS_PORTS: Final = Ports(client=4222, monitor=8222, cluster=6222)


class WorkloadError(Exception):
    """An actor of the workload failed."""


async def run_until_signal(plan: Plan) -> None:
    """Until a signal, or the end that the plan names; then cleans up."""
    demo = asyncio.create_task(_demo(plan))
    stopping = False

    def stop() -> None:
        nonlocal stopping
        # Once: a second Ctrl-C must not interrupt the cleanup.
        if not stopping:
            stopping = True
            demo.cancel()
            print_line(sys.stdout, "\nstopping")

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, stop)
    await asyncio.wait({demo})
    if not demo.cancelled():
        demo.result()
    print_line(sys.stdout, "stopped, everything is removed")


async def _demo(plan: Plan) -> None:
    """A child process that ends, ends the demo."""
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as watch:
        folder = await stack.enter_async_context(_temporary_folder())
        run = Run(plan, folder, stack, watch, DemoServer())
        await run.start()
        links, registry = run.server.links, run.server.registry
        broken = [each.name for each in registry.faults.values() if each.broken] if registry else []
        bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print_line(sys.stdout, guide(links, broken, bold=bold))
        await asyncio.wait(run.watchers, timeout=plan.seconds)
        for watcher in run.watchers:
            watcher.cancel()


@dataclass
class Run:
    """Starts one part after the other and watches each."""

    plan: Plan
    folder: Path
    stack: AsyncExitStack
    group: asyncio.TaskGroup
    server: DemoServer

    def __post_init__(self) -> None:
        self.watchers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        port = await self.plan.port("start page")
        address = await self.stack.enter_async_context(serving(self.server, port))
        self._link("Start page", f"{address}/", "this page")
        clock = WrongClock()
        with _step("nats-server"):
            servers = await self._servers()
        first = servers.nodes[0] if isinstance(servers, NatsCluster) else servers
        clock.server = first.name
        await self._start_workload(servers, clock)
        through = await self.stack.enter_async_context(nats_with_clock(first.ports.client, clock))
        engine = await asyncio.to_thread(find_engine, containers=self.plan.grafana)
        exporter = await self._start_exporter(through, address if engine else "")
        if self.plan.prometheus:
            await self._start_watching(exporter, address, engine)
        self._link("NATS", first.url, "user app, password app; system account: sys, sys")
        self._link("NATS monitor", f"{first.monitor_url}/", "the server's monitoring endpoints")
        self.stack.enter_context(advertised(address))

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
                print_line(sys.stdout, "nats-server: its ports are in use, using others")
        return await self.stack.enter_async_context(NatsServer(options=options))

    async def _start_workload(self, servers: NatsServer | NatsCluster, clock: WrongClock) -> None:
        cluster = servers if isinstance(servers, NatsCluster) else None
        urls = servers.urls if isinstance(servers, NatsCluster) else [servers.url]
        actors = workload(urls, "app", "app", cluster=cluster, clock=clock, broken=self.plan.broken)
        with _step("workload"):
            try:
                work = await self.stack.enter_async_context(actors)
            except REQUEST_ERRORS as error:
                raise WorkloadError(f"the workload cannot start: {error}") from error
        self.server.registry = work.registry
        self.watchers.append(self.group.create_task(_report_failure(work)))

    async def _start_exporter(self, nats_url: str, boards: str) -> int:
        with _step("exporter"):
            port = await self.plan.port("exporter")
            child = services.exporter(self.folder, port, nats_url, boards, self.plan.speed)
            self._watch(await self.stack.enter_async_context(child))
        address = f"http://127.0.0.1:{port}/"
        self.server.exporter = f"http://127.0.0.1:{port}"
        self._link(
            "Status page", address, "start here: which consumer is stuck, since when, and why"
        )
        self._link("Metrics", f"{address}metrics", "what Prometheus scrapes")
        return port

    async def _start_watching(self, exporter: int, base_url: str, engine: Engine | None) -> None:
        """Prometheus with our rules, Alertmanager, and where available Grafana and the history."""
        programs = await asyncio.to_thread(find_prometheus)
        if programs is None:
            print_line(sys.stdout, "prometheus: skipped, not available here")
            self._link("Prometheus", None, "not available on this machine")
            return
        rules = self.folder / "rules"
        await asyncio.to_thread(write_rules, rules, self.plan.speed, boards=base_url)
        manager = await self._start_alertmanager(base_url)
        archive_port = await self.plan.port("archive") if self.plan.history else None
        archive = f"127.0.0.1:{archive_port}" if archive_port else None
        wiring = Wiring(exporter, rules, manager, archive)
        prometheus = await self._start_prometheus(programs, wiring)
        if engine:
            await self._start_grafana(engine, await self.plan.port("grafana"), prometheus)
        else:
            self._link("Grafana", None, NO_GRAFANA)
        if archive_port:
            self._start_history(archive_port, base_url, programs)

    async def _start_alertmanager(self, base_url: str) -> str | None:
        try:
            await asyncio.to_thread(alertmanager_command)
        except ProgramMissingError as error:
            print_line(sys.stdout, f"alertmanager: skipped, {error}")
            self._link(
                "Notification preview", None, "needs Alertmanager, which is not available here"
            )
            return None
        with _step("alertmanager"):
            config = self.folder / "alertmanager.yml"
            await asyncio.to_thread(write_alertmanager, config, base_url)
            port = await self.plan.port("alertmanager")
            child = services.alertmanager(self.folder, config, port)
            self._watch(await self.stack.enter_async_context(child))
        preview = f"{base_url}/notification-preview"
        self._link("Notification preview", preview, "what reaches the on-call engineer")
        self._link("Alertmanager", f"http://127.0.0.1:{port}/", "groups, routes, inhibitions")
        return f"127.0.0.1:{port}"

    async def _start_prometheus(self, programs: Programs, wiring: Wiring) -> str:
        with _step("prometheus"):
            port = await self.plan.port("prometheus")
            child = services.prometheus(programs, self.folder, port, wiring)
            self._watch(await self.stack.enter_async_context(child))
        address = f"http://127.0.0.1:{port}"
        self._link(
            "Prometheus", f"{address}/", "our rules with shorter waits: see Alerts in its menu"
        )
        return address

    async def _start_grafana(self, engine: Engine, port: int, prometheus: str) -> None:
        try:
            with _step("grafana"):
                child = grafana(engine, self.folder, port, prometheus)
                self._watch(await self.stack.enter_async_context(child))
        except (ChildError, ProgramMissingError) as error:
            # The rest works without it, for example where the image cannot be pulled.
            print_line(sys.stdout, f"grafana: skipped, {error}")
            self._link("Grafana", None, NO_GRAFANA)
            return
        self.server.grafana = f"http://127.0.0.1:{port}"
        self._link("Grafana", f"{self.server.grafana}/d/sg-fleet", "our boards; begin with Fleet")

    def _start_history(self, archive_port: int, base_url: str, programs: Programs) -> None:
        """In the background: it takes a minute or two."""
        history = HistoryRun(
            self.folder,
            archive_port,
            programs.promtool,
            self.server,
            lambda line: print_line(sys.stdout, line),
        )
        what = "remote write into Delta tables, after sixty days of history"
        self._link("Archive", f"{base_url}/archive", what, "archive")
        self._link("Report", f"{base_url}/report/", "the monthly capacity report", "report")

        async def run_history() -> None:
            child = await history.run(self.stack)
            if child is not None:
                await _report_end(child)
            await asyncio.Event().wait()

        self.watchers.append(self.group.create_task(run_history()))

    def _watch(self, child: Child | NatsServer) -> None:
        self.watchers.append(self.group.create_task(_report_end(child)))

    def _link(self, name: str, address: str | None, what: str, progress: str = "") -> None:
        self.server.links.append(Link(name, address, what, progress))


@contextmanager
def _step(name: str) -> Iterator[None]:
    print_line(sys.stdout, f"{name}: starting")
    started = time.monotonic()
    yield
    print_line(sys.stdout, f"{name}: ready after {time.monotonic() - started:.1f} s")


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
