"""A cluster with the demo's workload, exporters and a Prometheus on it: what the boards are shown on."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from support.grafana.boards import ROOT
from support.nats.servers import NatsCluster, default_options

from streamgauge.demo.nats_server.options import Account, sample_accounts
from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.programs import Programs
from streamgauge.demo.processes.readiness import wait_until_ready

SYSTEM: Final = "demo"
JOB: Final = "streamgauge"

EXPORTER_CONFIG: Final = """\
web: {{listen_address: "127.0.0.1:{port}"}}
interval: {seconds}s
timeout: 5s
detail: full
systems:
  - name: {system}
    source: system
    urls: [{urls}]
    user: sys
    password: sys
    config_interval: {seconds}s
    health_interval: {seconds}s
    publishes:
      enabled: true
      interval: 10s
    exact:
      lag: true
    events:
      account:
        user: app
        password: app
      publish_ack_tap:
        enabled: true
"""
PROMETHEUS_CONFIG: Final = """\
global:
  scrape_interval: {seconds}s
  evaluation_interval: {seconds}s
rule_files: ["{rules}"]
scrape_configs:
  - job_name: {job}
    static_configs:
      - targets: [{targets}]
"""


@dataclass(frozen=True)
class Stage:
    prometheus: str
    cluster: NatsCluster
    scrape_seconds: float


@asynccontextmanager
async def stage(
    programs: Programs, folder: Path, *, seconds: int = 1, exporters: int = 1
) -> AsyncIterator[Stage]:
    """Everything runs when it begins; nothing is left when it ends."""
    async with AsyncExitStack() as stack:
        options = default_options(accounts=_accounts())
        cluster = await stack.enter_async_context(NatsCluster(3, options=options))
        await stack.enter_async_context(_workload(folder, cluster))
        ports = await asyncio.to_thread(free_ports, exporters + 1)
        for number, port in enumerate(ports[1:]):
            running = _exporter(folder, number, port, cluster, seconds)
            await stack.enter_async_context(running)
        address = await stack.enter_async_context(_prometheus(programs, folder, ports, seconds))
        yield Stage(address, cluster, seconds)


def _accounts() -> tuple[Account, ...]:
    """The usual ones, but that the demo's has limits to come near to."""
    limited = "jetstream: {max_mem: 64MB, max_file: 512MB}"
    return tuple(
        replace(each, jetstream=False, extra=(limited,)) if each.name == "APP" else each
        for each in sample_accounts()
    )


@asynccontextmanager
async def _workload(folder: Path, cluster: NatsCluster) -> AsyncIterator[None]:
    """In a process of its own: its end cannot be held up, whatever its clients wait for."""
    command = [sys.executable, "-m", "support.grafana.workload", *cluster.urls]
    child = Child("workload", folder / "workload.log")
    async with _running(child, command):
        yield
        if not child.running:
            raise await child.failure(f"ended with exit code {await child.ended()}")


@asynccontextmanager
async def _exporter(
    folder: Path, number: int, port: int, cluster: NatsCluster, seconds: int
) -> AsyncIterator[None]:
    config = folder / f"exporter-{number}.yml"
    text = EXPORTER_CONFIG.format(
        port=port, seconds=seconds, system=SYSTEM, urls=", ".join(cluster.urls)
    )
    await asyncio.to_thread(config.write_text, text)
    command = [sys.executable, "-m", "streamgauge.cli", "exporter", "--config", str(config)]
    child = Child(f"exporter {number}", folder / f"exporter-{number}.log")
    async with _running(child, command):
        await wait_until_ready(child, f"http://127.0.0.1:{port}/-/ready")
        yield


@asynccontextmanager
async def _prometheus(
    programs: Programs, folder: Path, ports: Sequence[int], seconds: int
) -> AsyncIterator[str]:
    config, own = folder / "prometheus.yml", ports[0]
    targets = ", ".join(f'"127.0.0.1:{port}"' for port in ports[1:])
    rules = _rules(folder, seconds)
    text = PROMETHEUS_CONFIG.format(seconds=seconds, rules=rules, job=JOB, targets=targets)
    await asyncio.to_thread(config.write_text, text)
    command = [
        str(programs.prometheus),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'prometheus-data'}",
        f"--web.listen-address=127.0.0.1:{own}",
        "--log.level=warn",
    ]
    child = Child("prometheus", folder / "prometheus.log")
    async with _running(child, command):
        await wait_until_ready(child, f"http://127.0.0.1:{own}/-/ready")
        yield f"http://127.0.0.1:{own}"


@asynccontextmanager
async def _running(child: Child, command: list[str]) -> AsyncIterator[None]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STREAMGAUGE_")}
    environment["PYTHONPATH"] = str(ROOT / "tests")  # for the workload
    await child.start(*command, environment=environment)
    try:
        yield
    finally:
        await child.stop()


def _rules(folder: Path, seconds: float) -> Path:
    """The committed ones; what is recorded once a minute is recorded at each evaluation."""
    made = folder / "rules"
    made.mkdir(exist_ok=True)
    for path in (ROOT / "alerts/generated").glob("*.rules.yml"):
        text = path.read_text(encoding="utf-8").replace("interval: 1m\n", f"interval: {seconds}s\n")
        (made / path.name).write_text(text, encoding="utf-8")
    return made / "*.rules.yml"
