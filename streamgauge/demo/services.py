"""The exporter and Prometheus as the demo starts them: command, configuration, readiness."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from streamgauge.demo.child import Child
from streamgauge.demo.programs import Programs
from streamgauge.demo.readiness import wait_until_ready

SCRAPE_SECONDS: Final = 5
SYSTEM_NAME: Final = "demo"

EXPORTER_CONFIG: Final = """\
listen: 127.0.0.1:{port}
interval: {seconds}s
timeout: {seconds}s
detail: full
systems:
  - name: {name}
    source: system
    urls: [{url}]
    user: sys
    password: sys
    publishes: {{interval: 10s}}
    exact: {{lag: true}}
    events:
      account: {{name: APP, user: app, password: app}}
      publish_ack_tap: {{enabled: true}}
"""
PROMETHEUS_CONFIG: Final = """\
global:
  scrape_interval: {seconds}s
scrape_configs:
  - job_name: streamgauge
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


@asynccontextmanager
async def exporter(folder: Path, port: int, nats_url: str) -> AsyncIterator[Child]:
    """Asks the server's system account; ready when its first poll is served."""
    config = folder / "exporter.yml"
    text = EXPORTER_CONFIG.format(port=port, seconds=SCRAPE_SECONDS, name=SYSTEM_NAME, url=nats_url)
    await asyncio.to_thread(config.write_text, text)
    child = Child("exporter", folder / "exporter.log")
    command = [sys.executable, "-m", "streamgauge.cli", "exporter", "--config", str(config)]
    async with _running(child, command):
        await wait_until_ready(child, f"http://127.0.0.1:{port}/-/ready")
        yield child


@asynccontextmanager
async def prometheus(
    programs: Programs, folder: Path, port: int, exporter_port: int
) -> AsyncIterator[Child]:
    """Scrapes the exporter; its data goes with the demo's folder."""
    config = folder / "prometheus.yml"
    text = PROMETHEUS_CONFIG.format(seconds=SCRAPE_SECONDS, port=exporter_port)
    await asyncio.to_thread(config.write_text, text)
    child = Child("prometheus", folder / "prometheus.log")
    command = [
        str(programs.prometheus),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'prometheus-data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    if programs.pages is not None:
        command.append(f"--web.local-assets={programs.pages}")
    async with _running(child, command):
        await wait_until_ready(child, f"http://127.0.0.1:{port}/-/ready")
        yield child


@asynccontextmanager
async def _running(child: Child, command: list[str]) -> AsyncIterator[None]:
    # The visitor's own settings (STREAMGAUGE_LISTEN, ...) are meant for their exporter, not for ours.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STREAMGAUGE_")}
    await child.start(*command, environment=environment)
    try:
        yield
    finally:
        await child.stop()
