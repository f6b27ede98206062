"""CPU time and memory of processes from /proc, and child processes that end with the bench."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import aiohttp

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
ROOT = Path(__file__).parent.parent


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_bytes(pid: int) -> int:
    """0 of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def tree_cpu_seconds(root: int) -> float:
    """Of a process and its descendants. Ended ones count with their parent, once it has waited."""
    return sum(int(field) for stat in _tree(root) for field in stat[11:15]) / _TICKS


def tree_resident_bytes(root: int) -> int:
    return sum(int(stat[21]) for stat in _tree(root)) * _PAGE_BYTES


def _tree(root: int) -> list[list[str]]:
    """What /proc/PID/stat has after the name, of a process and its descendants."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # the process has ended
    return [stat for pid, stat in stats.items() if _is_below(root, pid, stats)]


def _is_below(root: int, pid: int, stats: Mapping[int, list[str]]) -> bool:
    while pid in stats and pid != root:
        pid = int(stats[pid][1])
    return pid == root


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.asynccontextmanager
async def child(*argv: str) -> AsyncIterator[asyncio.subprocess.Process]:
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*argv, stdout=quiet, stderr=quiet, cwd=ROOT)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def until_ready(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        for _ in range(600):
            with contextlib.suppress(aiohttp.ClientError):  # not listening yet
                async with session.get(url) as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.1)
    raise RuntimeError(f"{url} never became ready")


def python(*argv: str) -> Sequence[str]:
    return (sys.executable, *argv)
