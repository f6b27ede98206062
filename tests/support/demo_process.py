"""`streamgauge demo` as a child: its printed page, its state, an orderly end."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

LAST_LINE = "Ctrl-C stops"
COMMAND = (sys.executable, "-m", "streamgauge.cli", "demo")


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

    async def state(self) -> dict[str, Any]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.address('Start page')}state.json") as response,
        ):
            status: dict[str, Any] = await response.json()
            return status

    async def say(self, *words: str) -> tuple[int | None, str, str]:
        """`streamgauge demo WORDS` from another terminal."""
        child = await asyncio.create_subprocess_exec(
            *COMMAND, *words, stdout=PIPE, stderr=PIPE, env=environment(self.folder)
        )
        output, complaint = await child.communicate()
        return child.returncode, output.decode(), complaint.decode()


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"TMPDIR": str(folder)}


async def text_of(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.text()


@asynccontextmanager
async def running_demo(folder: Path, *arguments: str) -> AsyncIterator[Demo]:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "--ports", "any", *arguments, stdout=PIPE, stderr=PIPE, env=environment(folder)
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
