"""One exporter, three systems, three sources: behind TLS and a password, and when NATS dies."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import bcrypt
import pytest
import pytest_asyncio
from support.certificates import Authority
from support.exporter.process import Exporter, Series, add_orders, exporting
from support.nats.servers import Account, Login, NatsOptions, NatsServer, User, connected
from support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

SYSTEMS = ("account", "system", "monitor")
PASSWORD = "geheim-4711"
OPTIONS = NatsOptions(
    accounts=(
        Account("APP", (User("app", PASSWORD),)),
        Account("SYS", (User("sys", PASSWORD),), jetstream=False),
    )
)
SETTINGS = """\
interval: 1s
web: {{config_file: web.yml}}
log: {{level: debug}}
systems:
  - {{name: account, source: account, urls: ["nats://app:{password}@{host}"]}}
  - {{name: system, source: system, urls: ["nats://{host}"], user: sys, password_file: secret}}
  - {{name: monitor, source: monitor, urls: ["{monitor}"]}}
"""
WEB_CONFIG = """\
tls_server_config: {{cert_file: "{cert}", key_file: "{key}"}}
basic_auth_users: {{prometheus: "{hashed}"}}
"""


def basic(password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"prometheus:{password}".encode()).decode()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[NatsServer]:
    async with NatsServer(options=OPTIONS) as running:
        async with connected(running, Login("app", PASSWORD)) as client:
            await add_orders(client)
        yield running


def written(folder: Path, server: NatsServer) -> ssl.SSLContext:
    """Settings, secret, certificate and web configuration; gives what a scraper must trust."""
    authority = Authority.create(folder)
    own = authority.issue("exporter")
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    (folder / "web.yml").write_text(WEB_CONFIG.format(cert=own.cert, key=own.key, hashed=hashed))
    (folder / "secret").write_text(f"{PASSWORD}\n")
    host = server.url.removeprefix("nats://")
    (folder / "exporter.yml").write_text(
        SETTINGS.format(password=PASSWORD, host=host, monitor=server.monitor_url)
    )
    return ssl.create_default_context(cafile=str(authority.cert))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def exporter(
    server: NatsServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Exporter]:
    folder = tmp_path_factory.mktemp("exporter")
    tls = await asyncio.to_thread(written, folder, server)
    config = ("--config", str(folder / "exporter.yml"))
    async with exporting(folder, *config, tls=tls, headers=basic(PASSWORD)) as running:
        await running.ready()
        yield running


async def seen(exporter: Exporter, *, up: int) -> Series:
    """The first scrape in which every system says so."""

    def holds(series: Series) -> bool:
        return series.named("up") == [up] * len(SYSTEMS)

    return await until(exporter.scrape, holds, f"not all are up = {up}")


async def test_only_who_knows_the_password_gets_in_and_only_by_tls(exporter: Exporter) -> None:
    for wrong in ({"Authorization": ""}, basic("wrong")):
        refused = await exporter.request("/metrics", headers=wrong)
        assert refused.status == 401
        assert refused.headers["WWW-Authenticate"].startswith("Basic ")
        assert "streamgauge_" not in refused.text
    assert (await exporter.request("/metrics")).status == 200
    plain = exporter.url.replace("https://", "http://")
    with pytest.raises(aiohttp.ClientError):
        await exporter.client.get(f"{plain}/metrics", headers=basic(PASSWORD))


async def test_three_systems_stand_side_by_side(exporter: Exporter) -> None:
    series = await seen(exporter, up=1)
    for system in SYSTEMS:
        assert series.named("consumer_num_pending", system=system, account="APP") == [5, 5, 5]
        assert series.value("server_up", system=system, server="n1") == 1
    page = (await exporter.request("/")).text
    assert [f"<h2>{system}</h2>" in page for system in SYSTEMS] == [True] * 3


async def test_a_dead_server_is_told_its_series_go_and_all_comes_back(
    exporter: Exporter, server: NatsServer
) -> None:
    await seen(exporter, up=1)
    await server.kill()
    await seen(exporter, up=0)

    def dropped(series: Series) -> bool:
        # The interval is a second. A poll that was under way saw half of it, and begins a new age.
        ages = series.named("snapshot_age_seconds")
        assets = series.named("consumer_up") + series.named("stream_messages")
        return not assets and len(ages) == len(SYSTEMS) and min(ages) > 3.0

    series = await until(exporter.scrape, dropped, "series are still there")
    for system in SYSTEMS:
        assert series.value("server_up", system=system, server="n1") == 0
        assert series.value("servers_responding", system=system) == 0
        assert series.value("request_success", system=system, request=ASKED[system]) == 0
    await _told_once(exporter, "ERROR", "no answer for three intervals: its series are dropped")
    await _told_once(exporter, "WARN", "server is silent")

    await server.restart()
    series = await seen(exporter, up=1)
    for system in SYSTEMS:
        assert series.named("consumer_num_pending", system=system) == [5, 5, 5]
        assert series.value("server_up", system=system, server="n1") == 1
    await _told_once(exporter, "INFO", "its series are served again")


ASKED = {"account": "stream_list", "system": "statsz", "monitor": "varz"}


async def _told_once(exporter: Exporter, level: str, message: str) -> None:
    """One line for each system, which may come a moment after the scrape."""

    async def lines() -> list[str]:
        told = await exporter.log_lines()
        return [line for line in told if f" {level:<5} " in line and f"  {message} " in line]

    found = await until(lines, lambda told: len(told) >= len(SYSTEMS), f"nobody said: {message}")
    for system in SYSTEMS:
        assert sum(f" system={system}" in line for line in found) == 1, found


async def test_no_password_is_shown_anywhere(exporter: Exporter) -> None:
    """After all of the above, with the log at its most talkative."""
    pages = [
        (await exporter.request(path)).text for path in ("/", "/metrics", "/docs/configuration")
    ]
    log = "\n".join(await exporter.log_lines())
    assert "system=account" in log
    assert [text for text in (log, *pages) if PASSWORD in text] == []
