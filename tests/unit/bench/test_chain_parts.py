"""What the chain bench measures of its parts, how it notices an end, and how it configures Prometheus."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml
from support.waiting import until

from bench.chain.meter import Meter, first_ended, read_all
from bench.chain.parts import Place, _configure, end, recorded
from streamgauge.demo.processes.child import Child, ChildError

# The descendant computes, not the process itself, and only once the meter runs.
_BUSY_CHILD = """
import subprocess, sys
computes = '''import pathlib, time
while not pathlib.Path({go!r}).exists(): time.sleep(0.01)
while time.process_time() < 0.5: pass
print("computed", flush=True); input()'''
subprocess.Popen([sys.executable, "-c", computes], stdin=subprocess.PIPE).wait()
"""
_COMPUTES_AT_ITS_END = """
import signal, sys, time
def stop(*_):
    until = time.process_time() + 0.3
    while time.process_time() < until: pass
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True: signal.pause()
"""


@asynccontextmanager
async def part(folder: Path, program: str) -> AsyncIterator[Child]:
    child = Child("a part", folder / "log")
    await child.start(sys.executable, "-c", program)
    try:
        yield child
    finally:
        await child.kill()


async def test_a_meter_includes_descendants(tmp_path: Path) -> None:
    go = tmp_path / "go"
    async with part(tmp_path, _BUSY_CHILD.format(go=str(go))) as child:
        meter = await Meter.start("a part", child)
        await asyncio.to_thread(go.touch)
        await until(child.log_text, lambda text: "computed" in text, "it does not compute")
        await meter.read()
        assert meter.cpu > 0.3  # what it took to start may be before the meter
        assert meter.a_minute == pytest.approx(meter.cpu / meter.seconds * 60)
        assert meter.peak > 10_000_000  # two interpreters


async def test_a_part_that_ended_is_named_with_its_output(tmp_path: Path) -> None:
    async with part(tmp_path, "print('no disk'); raise SystemExit(3)") as child:
        meter = await Meter.start("a part", child)
        await child.ended()
        with pytest.raises(ChildError, match=r"a part ended with exit code 3:\n  no disk"):
            await first_ended([meter])
        with pytest.raises(ChildError, match="exit code 3"):
            await read_all([meter])


async def test_the_end_of_a_part_is_measured(tmp_path: Path) -> None:
    async with part(tmp_path, _COMPUTES_AT_ITS_END) as child:
        meter = await Meter.start("a part", child)
        await until(child.log_text, lambda text: "ready" in text, "it does not start")
        spent = await end(meter)
        assert 0.1 < spent <= meter.cpu
        assert await child.ended() == 0


def test_prometheus_gets_the_shipped_configuration_with_the_addresses_of_the_run(
    tmp_path: Path,
) -> None:
    config = yaml.safe_load(_configure(Place(tmp_path, 30), 1111, 2222).read_text())
    targets = [job["static_configs"][0]["targets"] for job in config["scrape_configs"]]
    assert targets == [["127.0.0.1:1111"], ["127.0.0.1:2222"]]
    assert config["global"]["scrape_interval"] == "30s"
    write = config["remote_write"][0]
    assert write["url"] == "http://127.0.0.1:2222/api/v1/write"
    assert write["write_relabel_configs"]
    assert {path.name for path in tmp_path.glob("*.rules.yml")} >= {"archive.rules.yml"}


async def test_a_recorded_exposition_is_served_as_it_was_sent() -> None:
    async with (
        recorded(b"compressed", "text/plain; version=0.0.4") as port,
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as response,
    ):
        assert await response.read() == b"compressed"
        assert response.headers["Content-Encoding"] == "gzip"
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4"
