"""From a fault to a person, all parts real: exporter, Prometheus with our rules, Alertmanager with our
configuration, and a webhook that keeps all notifications."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from support.alert_pipeline.alertmanager import running as alertmanager
from support.alert_pipeline.config import (
    EXPORTER,
    POLL_SECONDS,
    PROMETHEUS,
    SYSTEM,
    Tempo,
    alertmanager_configuration,
)
from support.alert_pipeline.webhook import Inbox, listening
from support.exporter.process import COMMAND
from support.waiting import DEADLINE_SECONDS, until

from alerts.render_options import RenderOptions
from alerts.rendering.rule_files import rule_files
from exporter.tempo import VARIABLE
from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import Programs, prometheus
from streamgauge.demo.processes.readiness import wait_until_ready

# An alert takes so long at real tempo: half an hour of events, and a quarter to keep it.
_LONGEST_WAIT_SECONDS: Final = 3600.0


@dataclass
class Pipeline:
    inbox: Inbox
    exporters: list[ExporterChild]
    prometheus: str
    alertmanager: str
    tempo: Tempo
    session: aiohttp.ClientSession = field(repr=False)

    @property
    def exporter(self) -> ExporterChild:
        return self.exporters[0]

    async def value(self, query: str) -> float | None:
        """The one value that Prometheus has for it now."""
        async with self.session.get(
            f"{self.prometheus}/api/v1/query", params={"query": query}
        ) as response:
            body = await response.json()
        assert body["status"] == "success", body
        found = body["data"]["result"]
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else None

    async def until_value(self, query: str, wanted: float) -> None:
        await until(lambda: self.value(query), lambda got: got == wanted, query)

    async def until_kept_quiet(self, alertname: str) -> None:
        """It fires, and Alertmanager keeps it from people because another alert explains it."""

        async def states() -> list[str]:
            async with self.session.get(f"{self.alertmanager}/api/v2/alerts") as response:
                found = await response.json()
            return [a["status"]["state"] for a in found if a["labels"]["alertname"] == alertname]

        wanted = "suppressed"
        await until(
            states, lambda got: bool(got) and {*got} == {wanted}, f"{alertname} is received"
        )

    async def pages_of_links(self) -> set[str]:
        """The path of each page that a notification links to; every link opens."""
        paths = set()
        for link in sorted(self.inbox.links()):
            async with self.session.get(link) as response:
                assert response.status == 200, (link, await response.text())
                paths.add(response.url.path)
        return paths

    async def until_fresh(self, exporter: ExporterChild) -> None:
        """Prometheus has data of it again."""
        series = f'streamgauge_snapshot_age_seconds{{instance="{exporter.instance}"}}'
        await self.until_value(f"count({series} < {3 * POLL_SECONDS})", 1)

    async def until_no_asset_is_young(self) -> None:
        """Rules leave what is new in peace; counters need a value before the first event."""
        terms = self.tempo.terms
        await self.until_watched_for(terms.seconds("15m") + terms.seconds("5m"))

    async def until_watched_for(self, past: float) -> None:
        query = (
            f'count(streamgauge_snapshot_age_seconds{{system="{SYSTEM}"}} offset {past:.0f}s) > 0'
        )
        await until(
            lambda: self.value(query),
            lambda got: got is not None,
            "nothing was watched so long ago",
            past + DEADLINE_SECONDS,
        )


@dataclass
class ExporterChild:
    """Keeps its port when it is started again, as an exporter does."""

    child: Child
    port: int
    config: Path
    speed: float

    @property
    def instance(self) -> str:
        """As Prometheus calls it."""
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        # Without the settings of the user who runs the tests.
        clean = {name: text for name, text in os.environ.items() if "STREAMGAUGE_" not in name}
        clean[VARIABLE] = f"{self.speed:g}"
        await self.child.start(*COMMAND, "--config", str(self.config), environment=clean)
        await wait_until_ready(self.child, f"http://127.0.0.1:{self.port}/-/ready")

    async def stop(self) -> None:
        await self.child.stop()


@asynccontextmanager
async def pipeline(
    folder: Path,
    urls: Sequence[str],
    tempo: Tempo,
    timeout: float = POLL_SECONDS,
    systems: str = EXPORTER,
    exporters: int = 1,
) -> AsyncIterator[Pipeline]:
    """`timeout`: seconds of one poll. All processes run and the watchdog was received when the block starts; all end with it."""
    programs = await asyncio.to_thread(prometheus)
    if programs is None:
        raise ProgramMissingError("prometheus: cannot be had on this machine")
    async with AsyncExitStack() as stack:
        inbox, webhook = await stack.enter_async_context(listening())
        session = await stack.enter_async_context(aiohttp.ClientSession())
        inbox.patience = max(inbox.patience, _LONGEST_WAIT_SECONDS / tempo.speed)
        running = [
            await stack.enter_async_context(
                _exporter(folder / f"exporter{number}", urls, tempo, timeout, systems)
            )
            for number in range(exporters)
        ]
        config = folder / "alertmanager.yml"
        text = await asyncio.to_thread(alertmanager_configuration, webhook)
        await asyncio.to_thread(config.write_text, text)
        manager = await stack.enter_async_context(alertmanager(config, folder))
        await asyncio.to_thread(_write_rules, folder / "rules", tempo.terms)
        address = await stack.enter_async_context(
            _prometheus(programs, folder, [each.port for each in running], manager, tempo)
        )
        await inbox.until_watched()
        yield Pipeline(inbox, running, address, manager, tempo, session)


def _write_rules(folder: Path, terms: RenderOptions) -> None:
    folder.mkdir()
    for name, text in rule_files(terms).items():
        (folder / name).write_text(text, encoding="utf-8")


@asynccontextmanager
async def _exporter(
    files: Path, urls: Sequence[str], tempo: Tempo, timeout: float, systems: str
) -> AsyncIterator[ExporterChild]:
    port, config = free_ports(1)[0], files.with_suffix(".yml")
    text = systems.format(
        port=port, seconds=POLL_SECONDS, timeout=timeout, system=SYSTEM, urls=", ".join(urls),
        audit=tempo.audit_seconds,
    )  # fmt: skip
    await asyncio.to_thread(config.write_text, text)
    child = Child("exporter", files.with_suffix(".log"))
    exporter = ExporterChild(child, port, config, tempo.speed)
    try:
        await exporter.start()
        yield exporter
    finally:
        await exporter.stop()


@asynccontextmanager
async def _prometheus(
    programs: Programs, folder: Path, exporters: Sequence[int], manager: str, tempo: Tempo
) -> AsyncIterator[str]:
    port, config = free_ports(1)[0], folder / "prometheus.yml"
    text = PROMETHEUS.format(
        seconds=tempo.scrape_seconds,
        rules=folder / "rules" / "*.rules.yml",
        alertmanager=manager.removeprefix("http://"),
        exporters=", ".join(f'"127.0.0.1:{each}"' for each in exporters),
    )
    await asyncio.to_thread(config.write_text, text)
    child = Child("prometheus", folder / "prometheus.log")
    await child.start(
        programs.prometheus,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'prometheus-data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        # It knows its Alertmanager only some seconds after its start, and what fired before that is
        # sent again after this time.
        "--rules.alert.resend-delay=6s",
        "--log.level=warn",
    )
    try:
        await wait_until_ready(child, f"http://127.0.0.1:{port}/-/ready")
        yield f"http://127.0.0.1:{port}"
    finally:
        await child.stop()
