"""The programs that the demo starts: command, configuration, readiness."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from streamgauge.demo.pipeline.alerting import alertmanager_command
from streamgauge.demo.processes.child import STREAMGAUGE, Child
from streamgauge.demo.processes.programs import Programs
from streamgauge.demo.processes.readiness import wait_until_ready

POLL_SECONDS: Final = 2
SYSTEM_NAME: Final = "demo"
# Of the history, which has a sample each quarter of an hour.
LOOKBACK: Final = "16m"

EXPORTER_CONFIG: Final = """\
web: {{listen_address: "127.0.0.1:{port}", grafana_url: "{boards}"}}
forecasts: {forecasts}
interval: {seconds}s
timeout: {seconds}s
detail: full
systems:
  - name: {name}
    source: system
    urls: [{url}]
    user: sys
    password: sys
    config_interval: {seconds}s
    health_interval: 5s
    publishes: {{interval: 10s}}
    exact: {{lag: true}}
    events:
      account: {{name: APP, user: app, password: app}}
      publish_ack_tap: {{enabled: true}}
"""
PROMETHEUS_CONFIG: Final = """\
global:
  scrape_interval: {seconds}s
  scrape_timeout: {seconds}s
  evaluation_interval: {seconds}s
scrape_configs:
  - job_name: streamgauge
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""
RULES_CONFIG: Final = """\
rule_files: ["{rules}/*.yml"]
alerting:
  alertmanagers:
    - static_configs:
        - targets: ["{alertmanager}"]
"""
ARCHIVE_CONFIG: Final = """\
  - job_name: streamgauge-archive
    static_configs:
      - targets: ["{archive}"]
remote_write:
  - url: http://{archive}/api/v1/write
"""


@dataclass(frozen=True)
class Wiring:
    """What Prometheus scrapes, alerts and writes to, as host:port; None: not running."""

    exporter: int
    rules: Path | None = None
    alertmanager: str | None = None
    archive: str | None = None

    def config(self) -> str:
        text = PROMETHEUS_CONFIG.format(seconds=POLL_SECONDS, port=self.exporter)
        if self.archive:
            text += ARCHIVE_CONFIG.format(archive=self.archive)
        if self.alertmanager:
            text += RULES_CONFIG.format(rules=self.rules, alertmanager=self.alertmanager)
        return text


def rollups_folder(folder: Path) -> Path:
    return folder / "rollups"


def forecasts_file(folder: Path) -> Path:
    """The rollup writes it; the exporter serves it from then on."""
    return rollups_folder(folder) / "streamgauge_rollup.prom"


def prometheus_data(folder: Path) -> Path:
    return folder / "prometheus-data"


@asynccontextmanager
async def exporter(
    folder: Path, port: int, nats_url: str, boards: str, speed: float
) -> AsyncIterator[Child]:
    """With the system source; ready after the first poll. `boards` is empty without Grafana."""
    config = folder / "exporter.yml"
    text = EXPORTER_CONFIG.format(
        port=port, seconds=POLL_SECONDS, name=SYSTEM_NAME, url=nats_url, boards=boards,
        forecasts=forecasts_file(folder),
    )  # fmt: skip
    await asyncio.to_thread(config.write_text, text)
    command = (*STREAMGAUGE, "exporter", "--config", str(config))
    ready, tempo = f"http://127.0.0.1:{port}/-/ready", {"STREAMGAUGE_SPEED": f"{speed:g}"}
    async with running("exporter", folder, command, ready, tempo) as child:
        yield child


@asynccontextmanager
async def prometheus(
    programs: Programs, folder: Path, port: int, wiring: Wiring
) -> AsyncIterator[Child]:
    """Its data is in the demo's directory, and is removed with it."""
    config = folder / "prometheus.yml"
    await asyncio.to_thread(config.write_text, wiring.config())
    command = [
        str(programs.prometheus),
        f"--config.file={config}",
        f"--storage.tsdb.path={prometheus_data(folder)}",
        "--storage.tsdb.retention.time=400d",
        f"--query.lookback-delta={LOOKBACK}",
        f"--web.listen-address=127.0.0.1:{port}",
        # Links of alerts: the name of this machine may not resolve.
        f"--web.external-url=http://127.0.0.1:{port}/",
        # Alerts that fired before Alertmanager was discovered are sent again after this time.
        "--rules.alert.resend-delay=6s",
        "--log.level=warn",
    ]
    if programs.pages is not None:
        command.append(f"--web.local-assets={programs.pages}")
    async with running("prometheus", folder, command, f"http://127.0.0.1:{port}/-/ready") as child:
        yield child


@asynccontextmanager
async def alertmanager(folder: Path, config: Path, port: int) -> AsyncIterator[Child]:
    command = [
        *await asyncio.to_thread(alertmanager_command),
        f"--config.file={config}",
        f"--storage.path={folder / 'alertmanager-data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--web.external-url=http://127.0.0.1:{port}/",
        "--cluster.listen-address=",
    ]
    ready = f"http://127.0.0.1:{port}/-/ready"
    async with running("alertmanager", folder, command, ready) as child:
        yield child


@asynccontextmanager
async def archive(folder: Path, data: Path, port: int) -> AsyncIterator[Child]:
    command = (
        *STREAMGAUGE,
        "archive",
        "--data",
        str(data),
        "--web.listen-address",
        f"127.0.0.1:{port}",
    )
    async with running("archive", folder, command, f"http://127.0.0.1:{port}/-/ready") as child:
        yield child


@asynccontextmanager
async def running(
    name: str,
    folder: Path,
    command: Sequence[str],
    ready: str,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Child]:
    """The program, once the URL `ready` responds with 200."""
    child = Child(name, folder / f"{name}.log")
    await child.start(*command, environment={**plain_environment(), **settings})
    try:
        await wait_until_ready(child, ready)
        yield child
    finally:
        await child.stop()


def plain_environment() -> dict[str, str]:
    """Without the user's own settings, such as STREAMGAUGE_WEB_LISTEN_ADDRESS."""
    kept = ("STREAMGAUGE_CACHE",)
    return {
        name: text
        for name, text in os.environ.items()
        if name in kept or not name.startswith("STREAMGAUGE_")
    }
