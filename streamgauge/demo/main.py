"""`streamgauge demo`: one machine, a NATS server with healthy and sick consumers, the exporter."""

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from streamgauge.demo.child import Child, ChildError
from streamgauge.demo.fetching import ProgramMissingError
from streamgauge.demo.natsd import NatsServer, PortTakenError
from streamgauge.demo.natsd_options import NatsOptions, Ports, sample_accounts
from streamgauge.demo.ports import free_ports, is_free
from streamgauge.demo.programs import prometheus as find_prometheus
from streamgauge.demo.services import exporter, prometheus
from streamgauge.demo.text import Addresses, guide, say
from streamgauge.demo.workload import workload

NATS_PORTS: Final = Ports(client=4222, monitor=8222, cluster=6222)
EXPORTER_PORT: Final = 7778
PROMETHEUS_PORT: Final = 9090


def main(argv: Sequence[str] | None = None) -> int:
    """Runs until Ctrl-C, a child's death (exit 1) or the given time."""
    arguments = _parser().parse_args(argv)
    outcome = 0
    try:
        asyncio.run(_until_told(arguments))
    except* (ChildError, ProgramMissingError, WorkloadError) as group:
        say(sys.stderr, f"streamgauge demo: {_first(group)}")
        outcome = 1
    return outcome


class WorkloadError(Exception):
    """An actor of the workload failed."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="streamgauge demo", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, metavar="N", help="end by itself after N seconds (default: never)"
    )
    parser.add_argument(
        "--ports",
        choices=("fixed", "any"),
        default="fixed",
        help=f"fixed: {EXPORTER_PORT}, {PROMETHEUS_PORT}, {NATS_PORTS.client} and "
        f"{NATS_PORTS.monitor} where free (default); any: free ones",
    )
    parser.add_argument("--no-prometheus", action="store_true", help="start no Prometheus")
    return parser


async def _until_told(arguments: argparse.Namespace) -> None:
    """A signal cancels the demo wherever it is; the way out cleans up."""
    demo = asyncio.create_task(_demo(arguments))
    told = False

    def stop() -> None:
        nonlocal told
        # Once: a second Ctrl-C must not cut the cleaning up short.
        if not told:
            told = True
            say(sys.stdout, "\nstopping")
            demo.cancel()

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, stop)
    await asyncio.wait({demo})
    if not demo.cancelled():
        demo.result()
    say(sys.stdout, "stopped, nothing left behind")


async def _demo(arguments: argparse.Namespace) -> None:
    """Starts one after the other; from its start on, whoever ends by itself ends the demo."""
    fixed = arguments.ports == "fixed"
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as watch:
        folder = await stack.enter_async_context(_temporary_folder())
        with _step("nats-server"):
            server = await _nats_server(stack, fixed=fixed)
        watchers = [watch.create_task(_report_end(server))]
        with _step("workload"):
            work = await stack.enter_async_context(workload(server.url, "app", "app"))
        watchers.append(watch.create_task(_report_failure(work)))
        with _step("exporter"):
            port = await asyncio.to_thread(_port, EXPORTER_PORT, fixed=fixed)
            child = await stack.enter_async_context(exporter(folder, port, server.url))
        watchers.append(watch.create_task(_report_end(child)))
        address = None
        if not arguments.no_prometheus:
            address, more = await _prometheus(stack, folder, port, fixed=fixed)
            watchers += [watch.create_task(_report_end(child)) for child in more]
        here = Addresses(f"http://127.0.0.1:{port}", server.url, server.monitor_url, address)
        say(sys.stdout, guide(here, bold=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
        await asyncio.wait(watchers, timeout=arguments.seconds)
        for watcher in watchers:
            watcher.cancel()


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


async def _nats_server(stack: AsyncExitStack, *, fixed: bool) -> NatsServer:
    options = NatsOptions(server_name="demo", accounts=sample_accounts())
    if fixed and await asyncio.to_thread(_all_free, NATS_PORTS):
        try:
            return await stack.enter_async_context(NatsServer(options=options, ports=NATS_PORTS))
        except PortTakenError:
            say(sys.stdout, "nats-server: its ports were taken meanwhile, using others")
    return await stack.enter_async_context(NatsServer(options=options))


async def _prometheus(
    stack: AsyncExitStack, folder: Path, exporter_port: int, *, fixed: bool
) -> tuple[str | None, list[Child]]:
    """Its address and its process; neither where it cannot be had."""
    programs = await asyncio.to_thread(find_prometheus)
    if programs is None:
        say(sys.stdout, "prometheus: left out, it cannot be had here")
        return None, []
    with _step("prometheus"):
        port = await asyncio.to_thread(_port, PROMETHEUS_PORT, fixed=fixed)
        running = prometheus(programs, folder, port, exporter_port)
        child = await stack.enter_async_context(running)
    return f"http://127.0.0.1:{port}", [child]


def _all_free(ports: Ports) -> bool:
    return is_free(ports.client) and is_free(ports.monitor)


def _port(preferred: int, *, fixed: bool) -> int:
    return preferred if fixed and is_free(preferred) else free_ports(1)[0]


async def _report_end(child: Child | NatsServer) -> None:
    raise await child.failure(f"ended with exit code {await child.ended()}")


async def _report_failure(work: asyncio.Task[None]) -> None:
    await asyncio.wait({work})
    error = _first(work.exception())
    raise WorkloadError(f"the workload failed: {type(error).__name__}: {error}") from error


def _first(error: BaseException | None) -> BaseException | None:
    """The first cause in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
