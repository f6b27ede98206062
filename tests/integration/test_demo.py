"""`streamgauge demo` as a visitor runs it: addresses that answer, an end that leaves nothing."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

STUCK = r'streamgauge_consumer_num_pending\{[^}]*consumer="stuck"[^}]*\} (\d+)'
LAST_LINE = "Ctrl-C ends it"


@dataclass(frozen=True)
class Demo:
    """A running demo, its printed page, and the folder in which it keeps everything."""

    process: Process
    page: str
    folder: Path

    def address(self, name: str) -> str:
        found = re.search(rf"^  {re.escape(name)} +(\S+)", self.page, re.MULTILINE)
        assert found, f"no row {name!r} in:\n{self.page}"
        return found[1]

    async def children(self) -> dict[str, int]:
        return await asyncio.to_thread(_children_of, self.process.pid)


@asynccontextmanager
async def running_demo(folder: Path, *arguments: str) -> AsyncIterator[Demo]:
    command = [sys.executable, "-m", "streamgauge.cli", "demo", "--ports", "any", *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=PIPE, stderr=PIPE, env=os.environ | {"TMPDIR": str(folder)}
    )
    try:
        yield Demo(process, await _page(process), folder)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.communicate()


async def _page(process: Process) -> str:
    assert process.stdout is not None
    lines: list[str] = []
    while not any(LAST_LINE in line for line in lines[-1:]):
        line = await process.stdout.readline()
        if not line:
            _, complaint = await process.communicate()
            pytest.fail(f"the demo ended at start: {''.join(lines)}{complaint.decode()}")
        lines.append(line.decode())
    return "".join(lines)


def _children_of(parent: int) -> dict[str, int]:
    """Name and process id of each child."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(
                line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line
            )
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        if fields["PPid"] == str(parent):
            found[fields["Name"]] = int(fields["Pid"])
    return found


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _text(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()


async def _wait_for(pattern: str, url: str) -> None:
    """Asks until it is there; pytest's own time limit ends a wait in vain."""
    while True:
        if re.search(pattern, await _text(url)):
            return
        await asyncio.sleep(0.2)


async def test_the_demo_shows_the_stuck_consumer_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-prometheus") as demo:
        await _wait_for(STUCK, demo.address("Metrics"))
        assert "<html" in (await _text(demo.address("Status page"))).lower()
        children = await demo.children()
        assert len(children) == 2, children
        demo.process.send_signal(signal.SIGINT)
        _, complaint = await demo.process.communicate()
    assert (demo.process.returncode, complaint) == (0, b"")
    assert [name for name, pid in children.items() if _exists(pid)] == []
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


async def test_prometheus_of_the_demo_scrapes_the_exporter(tmp_path: Path) -> None:
    async with running_demo(tmp_path) as demo:
        prometheus = demo.address("Prometheus")
        if prometheus == "not":
            pytest.skip("Prometheus cannot be had here")
        query = 'streamgauge_consumer_num_pending{consumer="stuck"}'
        await _wait_for(r'"value":\[', f"{prometheus}api/v1/query?query={query}")


async def test_the_demo_ends_by_itself_when_told_so(tmp_path: Path) -> None:
    async with running_demo(tmp_path, "--no-prometheus", "--seconds", "0.1") as demo:
        await demo.process.communicate()
    assert demo.process.returncode == 0
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


@pytest.mark.parametrize("victim", ["nats-server", "exporter"])
async def test_a_child_that_dies_is_named_and_ends_the_demo(tmp_path: Path, victim: str) -> None:
    async with running_demo(tmp_path, "--no-prometheus") as demo:
        children = await demo.children()
        nats_server = children.pop("nats-server")
        (exporter,) = children.values()
        os.kill(nats_server if victim == "nats-server" else exporter, signal.SIGKILL)
        _, complaint = await demo.process.communicate()
    assert demo.process.returncode == 1
    assert f"{victim}" in complaint.decode()
    assert "ended with exit code -9" in complaint.decode()
    assert [pid for pid in (nats_server, exporter) if _exists(pid)] == []
    assert await asyncio.to_thread(os.listdir, tmp_path) == []
