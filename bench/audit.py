"""Time of an audit relative to a poll: all checks over the same rows, and the whole command.

python -m bench.audit [--streams 1000]       ten consumers per stream; starts its own server
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import io
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

from bench.big_server import BigServer, Size, big_server
from bench.process import peak_bytes
from bench.table import megabytes, seconds, show
from exporter.audit.command.main import main as audit_command
from exporter.audit.context import AuditContext
from exporter.audit.evaluation import evaluate
from exporter.audit.registry import all_checks, codes
from exporter.main import GC_THRESHOLDS
from exporter.polling.pipeline import Digest, Found, learn
from exporter.polling.wiring import make_source
from exporter.samples.render import Renderer
from exporter.settings.config import SourceName, SystemSettings

ROUNDS = 5


async def compare(big: BigServer) -> None:
    gc.set_threshold(*GC_THRESHOLDS)
    addresses: dict[SourceName, str] = {
        "account": big.address("app"),
        "system": big.address("sys"),
        "monitor": big.server.monitor_url,
    }
    rows = [await _row(source, url) for source, url in addresses.items()]
    header = ("source", "poll", "+ audit", "ratio", "findings", "first", "command", "ratio", "peak")
    title = f"{len(all_checks())} checks beside a poll ({big.size}); medians of {ROUNDS}"
    show(title, header, rows)
    print("first: a poll including the connection and the configuration, as in the command")


async def _row(source: SourceName, url: str) -> tuple[str, ...]:
    firsts, polls, audits, commands, findings = [], [], [], [], 0
    for _ in range(ROUNDS):
        first, poll, audit, findings = await _round(source, url)
        firsts.append(first)
        polls.append(poll)
        audits.append(audit)
        commands.append(await asyncio.to_thread(_command, source, url))
    poll, audit, first, command = map(statistics.median, (polls, audits, firsts, commands))
    return (
        source,
        seconds(poll),
        seconds(audit),
        f"{(poll + audit) / poll:.2f}",
        f"{findings:,}",
        seconds(first),
        seconds(command),
        f"{command / first:.2f}",
        megabytes(peak_bytes(os.getpid())),
    )


async def _round(source: SourceName, url: str) -> tuple[float, float, float, int]:
    """Seconds of a first poll, a second poll and an audit of it, and the number of findings."""
    settings = SystemSettings(name="bench", source=source, urls=(url,))
    digest, polls, seen = Digest(Renderer("bench")), [], []
    started = time.perf_counter()
    polled = make_source(settings)
    for _ in range(2):
        seen.append(await polled.poll(time.monotonic() + 120))
        await asyncio.to_thread(digest.take, seen[-1], Found())
        polls.append(time.perf_counter() - started)
        started = time.perf_counter()
    await polled.close()
    context = learn(digest.signals, digest.publishes, seen[-1], Found())
    audit, findings = await asyncio.to_thread(_audit, context)
    return polls[0], polls[1], audit, findings


def _audit(context: AuditContext) -> tuple[float, int]:
    """With new indexes, as after a real poll."""
    started = time.perf_counter()
    report = evaluate(replace(context), all_checks(), codes())
    if report.broken():
        raise RuntimeError(f"checks failed: {report.broken()}")
    return time.perf_counter() - started, len(report.findings)


def _command(source: str, url: str) -> float:
    """Including the output, without the start of the interpreter."""
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        code = audit_command(["--source", source, "--nats", url, "--fail-on", "never"])
    if code != 0:
        raise RuntimeError(f"the audit exited with code {code}")
    return time.perf_counter() - started


async def _measure(streams: int) -> None:
    async with big_server(Size(streams)) as big:
        await compare(big)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.audit", description=__doc__)
    parser.add_argument("--streams", type=int, default=1000, metavar="N")
    asyncio.run(_measure(parser.parse_args(argv).streams))


if __name__ == "__main__":
    main()
