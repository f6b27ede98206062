"""Creates streams and consumers on a server as fast as it accepts them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable

import msgspec
import nats
from nats.aio.client import Client

_AT_ONCE = 64
_SECOND = 1_000_000_000


def stream_name(number: int) -> str:
    return f"stream-{number:05d}"


def consumer_name(place: int) -> str:
    return f"worker-{place:02d}"


async def populate(url: str, streams: int, consumers_each: int, waiting: float = 1.0) -> None:
    """Memory streams with every usual limit set and two messages each.

    In the last streams, `waiting` of all, these wait for consumers without a worker."""
    idle = round(streams * (1 - waiting))
    client = await nats.connect(url)
    try:
        for first in range(0, streams, 500):
            some = range(first, min(streams, first + 500))
            await _request_all(client, (_stream_request(number) for number in some))
            subjects = (f"events.{number:05d}.{kind}" for number in some for kind in "ab")
            await _request_all(client, ((subject, b"x" * 50) for subject in subjects))
            await _request_all(
                client,
                (
                    _consumer_request(number, place, "new" if number < idle else "all")
                    for number in some
                    for place in range(consumers_each)
                ),
            )
            _progress(first + len(some), streams)
    finally:
        await client.close()


async def _request_all(client: Client, requests: Iterable[tuple[str, bytes]]) -> None:
    waiting = iter(requests)

    async def worker() -> None:
        for subject, payload in waiting:
            reply = await client.request(subject, payload, timeout=60)
            if b'"error"' in reply.data:
                raise RuntimeError(f"{subject}: {reply.data.decode()}")

    await asyncio.gather(*(worker() for _ in range(_AT_ONCE)))


def _stream_request(number: int) -> tuple[str, bytes]:
    config = {
        "name": stream_name(number),
        "subjects": [f"events.{number:05d}.>"],
        "storage": "memory",
        "retention": "limits",
        "max_msgs": 1000,
        "max_bytes": 100_000,
        "max_age": 3600 * _SECOND,
        "num_replicas": 1,
    }
    return f"$JS.API.STREAM.CREATE.{stream_name(number)}", msgspec.json.encode(config)


def _consumer_request(number: int, place: int, deliver: str) -> tuple[str, bytes]:
    name = consumer_name(place)
    config = {
        "name": name,
        "durable_name": name,
        "deliver_policy": deliver,
        "ack_policy": "explicit",
        "ack_wait": 30 * _SECOND,
        "max_deliver": 5,
        "max_ack_pending": 1000,
        "mem_storage": True,
    }
    body = {"stream_name": stream_name(number), "config": config}
    return f"$JS.API.CONSUMER.CREATE.{stream_name(number)}.{name}", msgspec.json.encode(body)


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r  {done} of {of} streams")
        sys.stderr.write("\n" if done == of else "")
        sys.stderr.flush()
