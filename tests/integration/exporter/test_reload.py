"""A reload of the running exporter: what changed changes, the rest goes on, a bad file does nothing."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.exporter.process import NOBODY, Series, add_orders, exporting
from support.nats.servers import NatsOptions, NatsServer, connected
from support.waiting import until

RELOADABLE = """\
interval: 1s
systems:
  - {{name: dead, urls: ["{nobody}"]}}
  - {{name: {name}, urls: ["{url}"], filters: {{consumers: {{exclude: "{exclude}"}}}}}}
"""


@pytest.fixture
async def server() -> AsyncIterator[NatsServer]:
    async with NatsServer(options=NatsOptions()) as running:
        async with connected(running) as client:
            await add_orders(client)
        yield running


async def test_a_reload_changes_what_changed_and_nothing_else(
    tmp_path: Path, server: NatsServer
) -> None:
    file = tmp_path / "exporter.yml"

    async def write(name: str, exclude: str = "nothing") -> None:
        text = RELOADABLE.format(nobody=NOBODY, url=server.url, name=name, exclude=exclude)
        await asyncio.to_thread(file.write_text, text)

    def failures(series: Series) -> float:
        return series.value("poll_errors_total", system="dead") or 0

    await write("first")
    async with exporting(tmp_path, "--config", str(file), "--web.enable-lifecycle") as exporter:
        await exporter.ready()
        before = await until(
            exporter.scrape, lambda series: failures(series) >= 2, "the dead system is not polled"
        )
        assert len(before.named("consumer_up", system="first")) == 3

        await write("second")  # one is removed, one is added, one stays
        response = await exporter.request("/-/reload", "POST")
        assert (response.status, response.text) == (200, "reloaded\n")
        after = await until(
            exporter.scrape,
            lambda series: bool(series.named("consumer_up", system="second")),
            "not added",
        )
        assert after.named("consumer_up", system="first") == []
        assert after.value("up", system="first") is None
        assert failures(after) >= failures(before)
        assert (await exporter.request("/-/ready")).status == 200

        await write("second", exclude="worker-0")  # it changes
        exporter.signal(signal.SIGHUP)

        async def consumers() -> int:
            series = await exporter.scrape()
            # No scrape in between goes without the system: the old page stays until the new one.
            assert series.value("stream_messages", system="second") == 5
            return len(series.named("consumer_up", system="second"))

        await until(consumers, lambda number: number == 2, "the filter is not in force")
        assert failures(await exporter.scrape()) >= failures(after)


async def test_a_bad_file_keeps_the_old_configuration_and_says_so(
    tmp_path: Path, server: NatsServer
) -> None:
    file = tmp_path / "exporter.yml"
    good = f"interval: 1s\nsystems: [{{name: good, urls: ['{server.url}']}}]\n"
    await asyncio.to_thread(file.write_text, good)
    async with exporting(tmp_path, "--config", str(file), "--web.enable-lifecycle") as exporter:
        await exporter.ready()
        started = (await exporter.scrape()).value("config_last_reload_timestamp_seconds")
        await asyncio.to_thread(file.write_text, good + "intervall: 5s\n")
        response = await exporter.request("/-/reload", "POST")
        reason = f"{file}: intervall: unknown key (did you mean interval?)"
        assert response.status == 500
        assert response.text == f"not reloaded, the old configuration stays: {reason}\n"
        series = await exporter.scrape()
        assert series.value("config_last_reload_success") == 0
        assert series.value("config_last_reload_timestamp_seconds") == started
        assert len(series.named("consumer_up", system="good")) == 3
        line = (await exporter.log_lines())[-1]
        assert (
            "ERROR exporter.polling.supervisor  reload failed, the old configuration stays" in line
        )
        assert "did you mean interval?" in line

        await asyncio.to_thread(file.write_text, good + "web: {listen_address: '127.0.0.1:1'}\n")
        response = await exporter.request("/-/reload", "POST")
        assert response.text == "reloaded\n"  # the variable of the test wins, so nothing changed
        assert (await exporter.scrape()).value("config_last_reload_success") == 1
