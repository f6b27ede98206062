"""`python -m support.grafana.workload URL...`: the demo's workload and what it has not, until killed."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Final

import nats
import nats.errors
import nats.js.errors
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DiscardPolicy, StreamConfig, StreamSource

from streamgauge.demo.workload import workload

USER: Final = "app"  # and its password
LEDGER: Final = "LEDGER"  # three copies, a mirror, a limit, and an owner who wrote one down
LEDGER_BYTES: Final = 60_000  # full after a quarter of a minute: it then drops unread messages
MIRROR: Final = "LEDGER_COPY"
VAULT: Final = "VAULT"  # refuses new messages when full, and is full soon
# A rejected publish, an empty fetch; the library raises its own timeout or the plain one.
FAILURES: Final = (nats.errors.Error, nats.js.errors.Error, TimeoutError)


async def prepare(jetstream: JetStreamContext) -> None:
    await jetstream.add_stream(
        StreamConfig(
            name=LEDGER,
            subjects=["ledger.>"],
            num_replicas=3,
            max_bytes=LEDGER_BYTES,
            duplicate_window=60,
            metadata={"io.nats.monitor.msgs-warn": "100000"},
        )
    )
    await jetstream.add_stream(
        StreamConfig(
            name=VAULT,
            subjects=["vault.>"],
            max_msgs=20,
            max_bytes=100_000,
            discard=DiscardPolicy.NEW,
        )
    )
    await jetstream.add_stream(StreamConfig(name=MIRROR, mirror=StreamSource(name=LEDGER)))
    await _add_consumers(jetstream)


async def _add_consumers(jetstream: JetStreamContext) -> None:
    await jetstream.add_consumer(
        LEDGER,
        ConsumerConfig(
            durable_name="auditor",
            sample_freq="100",
            filter_subject="ledger.a",
            max_deliver=10,
            backoff=[5, 10, 30],
            metadata={"io.nats.monitor.waiting-warn": "1"},
        ),
    )
    # No worker pulls from it: the stream drops its messages.
    await jetstream.add_consumer(LEDGER, ConsumerConfig(durable_name="asleep"))


async def write(jetstream: JetStreamContext) -> None:
    """Now and then with a wrong expectation, which the server rejects."""
    number = 0
    while True:
        number += 1
        wrong = {"Nats-Expected-Last-Sequence": "1"} if number % 20 == 0 else None
        with suppress(*FAILURES):
            await jetstream.publish(f"ledger.{'ab'[number % 2]}", b"x" * 200, headers=wrong)
            if number % 10 == 0:
                await jetstream.account_info()  # some API requests, as on any real server
                await jetstream.publish("vault.x", b"x")
        await asyncio.sleep(0.05)


async def read(jetstream: JetStreamContext) -> None:
    subscription = await jetstream.pull_subscribe_bind("auditor", LEDGER)
    while True:
        with suppress(*FAILURES):
            for message in await subscription.fetch(20, timeout=1):
                await asyncio.sleep(0.02)
                if message.metadata.sequence.stream % 50 == 0:
                    await message.term()
                else:
                    await message.ack()


async def run(urls: list[str]) -> None:
    client = await nats.connect(urls, user=USER, password=USER)
    jetstream = client.jetstream(timeout=30)
    await prepare(jetstream)
    broken = ("poison", "slow-ack", "nak-loop", "exhausted")
    async with workload(urls[0], USER, USER, broken=broken) as demo:
        await asyncio.gather(demo.ended, write(jetstream), read(jetstream))


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1:]))
