"""The Prometheus configuration of deploy/ at work: a real server watched, scraped, judged, archived."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from support.archive.process import ArchiveProcess, archiving
from support.archive.published import read_published
from support.deploy.files import DEPLOY, ROOT
from support.deploy.relabelling import kept
from support.exporter.process import UNREACHABLE, add_orders, exporting
from support.nats.servers import NEWEST, NatsServer, connected, default_options
from support.waiting import until

from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.ports import free_ports
from streamgauge.demo.processes.program_cache import ProgramMissingError, cache_folder
from streamgauge.demo.processes.programs import prometheus
from streamgauge.demo.processes.readiness import wait_until_ready


def configuration(exporter: int, archive: int) -> str:
    """The committed file with our ports and folders, and a faster pace; nothing else."""
    text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    changes = {
        "127.0.0.1:7778": f"127.0.0.1:{exporter}",
        "127.0.0.1:7779": f"127.0.0.1:{archive}",
        "/etc/prometheus/streamgauge/": f"{ROOT}/alerts/generated/",
        "scrape_interval: 15s": "scrape_interval: 1s",
        "evaluation_interval: 1m": "evaluation_interval: 1s",
        "max_samples_per_send: 2000": "batch_send_deadline: 100ms",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@asynccontextmanager
async def prometheus_running(folder: Path, exporter: int, archive: int) -> AsyncIterator[str]:
    programs = await asyncio.to_thread(prometheus)
    if programs is None:
        raise ProgramMissingError("prometheus: cannot be had on this machine")
    port = free_ports(1)[0]
    config = folder / "prometheus.yml"
    text = await asyncio.to_thread(configuration, exporter, archive)
    await asyncio.to_thread(config.write_text, text)
    child = Child("prometheus", folder / "prometheus.log")
    await child.start(
        programs.prometheus,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data-prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    try:
        await wait_until_ready(child, f"http://127.0.0.1:{port}/-/ready")
        yield f"http://127.0.0.1:{port}"
    finally:
        await child.stop()


async def firing(url: str) -> set[str]:
    async with aiohttp.ClientSession() as client, client.get(f"{url}/api/v1/alerts") as response:
        found: dict[str, Any] = await response.json()
    return {each["labels"]["alertname"] for each in found["data"]["alerts"]}


async def has_samples(archive: ArchiveProcess) -> float:
    return (await archive.scrape()).value("archive_samples_total") or 0


@asynccontextmanager
async def vmagent_running(folder: Path, exporter: int, archive: str) -> AsyncIterator[None]:
    """Starts it as the comment in scrape.yml does; the second address has no listener."""
    program = cache_folder() / "debian-victoria-metrics" / "usr" / "bin" / "vmagent"
    if not await asyncio.to_thread(program.exists):
        raise ProgramMissingError("vmagent: was not fetched by the benches of the archive")
    scrape = DEPLOY / "victoriametrics" / "scrape.yml"
    text = (await asyncio.to_thread(scrape.read_text)).replace("15s", "1s")
    config = folder / "scrape.yml"
    text = text.replace("127.0.0.1:7778", f"127.0.0.1:{exporter}")
    await asyncio.to_thread(config.write_text, text)
    child = Child("vmagent", folder / "vmagent.log")
    await child.start(
        program,
        f"-promscrape.config={config}",
        f"-httpListenAddr=127.0.0.1:{free_ports(1)[0]}",
        f"-remoteWrite.tmpDataPath={folder / 'vmagent'}",
        f"-remoteWrite.url={archive}/api/v1/write",
        f"-remoteWrite.urlRelabelConfig={scrape.parent / 'archive-relabel.yml'}",
        "-remoteWrite.url=http://127.0.0.1:1/api/v1/write",
    )
    try:
        yield
    finally:
        await child.stop()


@pytest.mark.program
@pytest.mark.long
@pytest.mark.integration
async def test_vmagent_sends_the_archive_the_same(tmp_path: Path) -> None:
    async with (
        exporting(tmp_path, "--nats", UNREACHABLE) as exporter,
        archiving(tmp_path) as archive,
    ):
        await exporter.listening()
        async with vmagent_running(tmp_path, exporter.port, archive.url):
            await until(lambda: has_samples(archive), lambda n: n > 10, "nothing is sent")
        assert await archive.stop() == 0
    names = await asyncio.to_thread(published_names, archive.data)
    assert "streamgauge_up" in names
    assert [name for name in names if not kept(name)] == []


@pytest.mark.program
@pytest.mark.integration
async def test_what_is_scraped_is_judged_and_its_state_is_archived(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    await asyncio.to_thread(secret.write_text, "app")
    async with NatsServer(NEWEST, default_options()) as server:
        async with connected(server) as client:
            await add_orders(client)
        login = ("--nats", server.url, "--user", "app", "--password-file", str(secret))
        async with exporting(tmp_path, *login) as exporter, archiving(tmp_path) as archive:
            await exporter.ready()
            async with prometheus_running(tmp_path, exporter.port, archive.port) as url:
                await until(lambda: firing(url), {"JetStreamWatchdog"}.__le__, "no rule is judged")
                await until(lambda: has_samples(archive), lambda n: n > 200, "nothing is sent")
            assert await archive.stop() == 0
    names = await asyncio.to_thread(published_names, archive.data)
    assert "streamgauge_consumer_num_pending" in names
    assert "streamgauge_up" in names
    assert [name for name in names if not kept(name)] == []


def published_names(folder: Path) -> set[str]:
    return {dict(labels)["__name__"] for labels in read_published(folder).points}


def test_the_example_of_the_page_is_the_file() -> None:
    page = (ROOT / "docs" / "deploy" / "prometheus.md").read_text()
    file = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    (relabelling,) = re.findall(r"    write_relabel_configs:\n(.*)\Z", file, re.DOTALL)
    assert relabelling in page
