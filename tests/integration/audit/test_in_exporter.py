"""The audit in a running exporter: series, status page and log while a configuration changes."""

import asyncio
import html
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from support.exporter.process import Exporter, Series, exporting
from support.nats.servers import NatsServer, Permissions, User, connected, default_options
from support.waiting import until

from streamgauge.demo.nats_server.options import sample_accounts

SETTINGS = """\
interval: 1s
detail: full
log: {{format: json}}
systems:
  - name: prod
    source: {source}
    urls: [{url}]
    user: {user}
    password: {user}
    config_interval: 1s
    audit:
      interval: 1s
      ignore: [no-limits]
"""


@pytest.fixture
async def server() -> AsyncIterator[NatsServer]:
    async with NatsServer(options=default_options()) as running:
        yield running


async def request(client: Client, subject: str, body: dict[str, Any]) -> None:
    reply = await client.request(f"$JS.API.{subject}", json.dumps(body).encode(), timeout=5)
    response = json.loads(reply.data)
    assert "error" not in response, response


async def put_worker(client: Client, **changes: Any) -> None:
    """Creates or edits a consumer, on a stream with a muted finding."""
    config = {"durable_name": "worker", "ack_policy": "explicit", "max_deliver": -1, **changes}
    body = {"stream_name": "ORDERS", "config": config}
    await request(client, "CONSUMER.DURABLE.CREATE.ORDERS.worker", body)


async def put_orders(client: Client, **changes: Any) -> None:
    await client.jetstream().add_stream(name="ORDERS", subjects=["orders.>"], **changes)


async def written(folder: Path, server: NatsServer, source: str, user: str) -> str:
    path = folder / "settings.yml"
    text = SETTINGS.format(source=source, url=server.url, user=user)
    await asyncio.to_thread(path.write_text, text)
    return str(path)


async def counted(exporter: Exporter, check: str, wanted: float | None) -> Series:
    """Waits until this many assets of ORDERS violate the check."""

    def holds(found: Series) -> bool:
        value = found.value("stream_config_findings", stream="ORDERS", check=check)
        return value == wanted and bool(found.named("stream_messages", stream="ORDERS"))

    return await until(exporter.scrape, holds, f"{check} is not {wanted}")


@pytest.mark.parametrize(("source", "user"), [("account", "app"), ("system", "sys")])
async def test_findings_follow_the_configuration(
    server: NatsServer, tmp_path: Path, source: str, user: str
) -> None:
    code = "max-ack-pending-unlimited"
    async with connected(server) as client:
        await put_orders(client)
        settings = await written(tmp_path, server, source, user)
        async with exporting(tmp_path, "--config", settings) as exporter:
            await exporter.ready()
            await counted(exporter, code, None)
            await put_worker(client, max_ack_pending=-1)
            found = await counted(exporter, code, 1.0)
            labels = {"stream": "ORDERS", "consumer": "worker", "severity": "warn", "check": code}
            assert found.value("consumer_config_finding", **labels) == 1.0
            page = (await exporter.request("/")).text
            assert "nats consumer edit ORDERS worker --max-pending" in page
            await put_worker(client, max_ack_pending=500)
            await counted(exporter, code, None)


async def test_a_muted_finding_has_no_series_and_stays_on_the_page(
    server: NatsServer, tmp_path: Path
) -> None:
    async with connected(server) as client:
        await put_orders(client)
        await put_worker(client)
        settings = await written(tmp_path, server, "account", "app")
        async with exporting(tmp_path, "--config", settings) as exporter:
            await exporter.ready()
            found = await counted(exporter, "max-deliver-unlimited", 1.0)
            assert found.value("stream_config_findings", check="no-limits") is None
            assert "muted by configuration" in (await exporter.request("/")).text
            muted = {"io.streamgauge.ignore": "max-deliver-unlimited"}
            await put_worker(client, metadata=muted)
            await counted(exporter, "max-deliver-unlimited", None)
            assert "muted by consumer metadata" in (await exporter.request("/")).text


async def test_denied_server_settings_leave_the_poll_complete(tmp_path: Path) -> None:
    """For a user without the permission for VARZ."""
    denied = Permissions(publish_deny=("$SYS.REQ.SERVER.PING.VARZ",))
    reader = User("reader", "reader", permissions=denied)
    accounts = tuple(
        replace(account, users=(*account.users, reader)) if account.name == "SYS" else account
        for account in sample_accounts()
    )
    async with NatsServer(options=default_options(accounts=accounts)) as server:
        async with connected(server) as client:
            await put_orders(client)
        settings = await written(tmp_path, server, "system", "reader")
        async with exporting(tmp_path, "--config", settings) as exporter:
            await exporter.ready()
            found = await until(
                exporter.scrape,
                lambda seen: bool(seen.named("request_skipped", request="varz")),
                "no request is skipped",
            )
            assert found.value("up", system="prod") == 1.0
            assert found.value("request_success", request="varz") == 0.0
            page = html.unescape((await exporter.request("/")).text)
            assert "the server's settings (VARZ) are not known: " in page
