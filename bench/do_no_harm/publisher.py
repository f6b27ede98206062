"""A publisher in its own process: sends at a constant rate and records the latency of each ack."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import struct
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field

import nats

from bench.process import ROOT, python

RATE = 400  # publishes a second
STREAM, SUBJECT, CONSUMER = "probe", "probe", "reader"
# Subject filters of count requests, and how many stored messages match each.
FILTERS = {f"probe.s{number}.>": number for number in (1_000, 10_000, 100_000)}
_SAMPLE = struct.Struct("dd")  # time.monotonic of the publish, latency of its ack

Span = tuple[float, float]  # from, until; time.monotonic of any process of this machine


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency over all publishes of some spans, in seconds."""

    p50: float
    p99: float
    worst: float

    def milliseconds(self) -> tuple[str, str, str]:
        return tuple(f"{one * 1000:.1f}" for one in (self.p50, self.p99, self.worst))  # type: ignore[return-value]


@dataclass(slots=True)
class Published:
    """The samples of the publisher; complete after it has ended."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def within(self, spans: Iterable[Span]) -> Latency:
        took = sorted(one for span in spans for one in self._of(span))
        if not took:
            raise RuntimeError("nothing was published in that time")
        return Latency(took[len(took) // 2], took[len(took) * 99 // 100], took[-1])

    def worst_of_each(self, spans: Iterable[Span]) -> list[float]:
        return [max(took) for span in spans if (took := self._of(span))]

    def _of(self, span: Span) -> Sequence[float]:
        return [took for sent, took in self.samples if span[0] <= sent < span[1]]


@contextlib.asynccontextmanager
async def publishing(url: str) -> AsyncIterator[Published]:
    """Publishes from the first ack to the end of the block; the samples are complete after it."""
    argv = python("-m", "bench.do_no_harm.publisher", "--publish", url)
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.PIPE, cwd=ROOT
    )
    published = Published()
    try:
        await asyncio.sleep(1.5)
        yield published
    finally:
        out, _ = await process.communicate(b"stop\n")
        published.samples = list(_SAMPLE.iter_unpack(out))


async def make_probe(url: str) -> None:
    """Creates the stream to publish to, with many subjects and a consumer without workers."""
    client = await nats.connect(url)
    jetstream = client.jetstream()
    await jetstream.add_stream(
        name=STREAM, subjects=[SUBJECT, f"{SUBJECT}.>"], storage="memory",
        max_msgs_per_subject=1000, allow_direct=True,
    )  # fmt: skip
    await jetstream.add_consumer(STREAM, durable_name=CONSUMER, filter_subject=f"{SUBJECT}.s1000.>")
    for place, (wide, number) in enumerate(FILTERS.items()):
        for subject in range(number):
            await client.publish(wide.replace(">", f"{place}.{subject}"), b"x" * 100)
            if subject % 5000 == 0:
                await client.flush(timeout=60)
    await client.flush(timeout=60)
    await client.close()


async def _publish(url: str) -> None:
    """One publish per tick until a line arrives on stdin; samples stay in memory until then."""
    client = await nats.connect(url)
    samples: list[tuple[float, float]] = []
    tasks: set[asyncio.Task[None]] = set()

    async def one() -> None:
        sent = time.monotonic()
        await client.request(SUBJECT, b"x" * 100, timeout=30)
        samples.append((sent, time.monotonic() - sent))

    gc.disable()  # its pauses would count as latency of the server
    stop = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    tick = time.monotonic()
    while not stop.done():
        task = asyncio.create_task(one())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        tick += 1 / RATE
        await asyncio.sleep(max(0.0, tick - time.monotonic()))
    await asyncio.gather(*tasks)
    await client.close()
    sys.stdout.buffer.write(b"".join(_SAMPLE.pack(*sample) for sample in samples))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--publish", required=True)
    asyncio.run(_publish(parser.parse_args().publish))
