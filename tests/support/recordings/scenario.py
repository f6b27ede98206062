"""The assets of the recordings: one of each kind that a stand-alone server can hold.

Unacked messages have a long ack_wait, so that the state is unchanged between requests.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from support.nats.servers import Account, NatsOptions, User, default_options
from support.waiting import until

Config = dict[str, Any]

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
ORDERS: Final = 60
_NO_SUITABLE_PEERS: Final = "'err_code': 10005"
_WATCHED: Final = {
    "io.nats.monitor.enabled": "true",
    "io.nats.monitor.msgs-warn": "1000",
    "io.nats.monitor.last-ack-critical": "1h30m",
    "io.nats.monitor.lag-critical": "quite a lot",  # not a number
    "owner": "billing",
}


def options() -> NatsOptions:
    """The usual accounts, APP with limits so that a response has some."""
    limits = "jetstream { max_mem: 64MB, max_file: 256MB, max_streams: 50, max_consumers: 500 }"
    limited = Account("APP", (User("app", "app"),), jetstream=False, extra=(limits,))
    usual = default_options().accounts
    return default_options(accounts=(limited, *(each for each in usual if each.name != "APP")))


def since(version: str, first: str) -> bool:
    """Whether a server of that version knows what came with `first`."""
    return _numbers(version) >= _numbers(first)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


class Api:
    """The JetStream API by raw requests: the library knows less than the newest server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.jetstream: JetStreamContext = client.jetstream(timeout=10)

    async def request(self, subject: str, request: Config | None = None) -> Config:
        payload = b"" if request is None else json.dumps(request).encode()
        message = await self.client.request(f"$JS.API.{subject}", payload, timeout=10)
        response: Config = json.loads(message.data)
        if "error" in response:
            raise RuntimeError(f"{subject}: {response['error']}")
        return response

    async def stream(self, name: str, **config: Any) -> None:
        """A cluster that has just started may not know its peers yet."""
        request = {"name": name, "storage": "file", **config}

        async def refused() -> str:
            try:
                await self.request(f"STREAM.CREATE.{name}", request)
            except RuntimeError as error:
                if _NO_SUITABLE_PEERS not in str(error):
                    raise
                return str(error)
            return ""

        await until(refused, lambda why: not why, name)

    async def consumer(self, stream: str, name: str, **config: Any) -> None:
        """Durable unless it says `ephemeral`; acknowledged one by one unless it says otherwise."""
        whole = {"name": name, "ack_policy": "explicit", "ack_wait": 30 * MINUTE, **config}
        if not whole.pop("ephemeral", False):
            whole["durable_name"] = name
        request = {"stream_name": stream, "config": whole}
        await self.request(f"CONSUMER.CREATE.{stream}.{name}", request)

    async def publish(self, subject: str, count: int) -> None:
        for number in range(count):
            await self.jetstream.publish(subject, b"x" * 20 + str(number).encode())

    async def fetch(self, stream: str, consumer: str, count: int) -> list[Msg]:
        pull = await self.jetstream.pull_subscribe_bind(consumer, stream)
        messages = await pull.fetch(count, timeout=10)
        await pull.unsubscribe()
        return messages

    async def wait_in_vain(self, stream: str, consumer: str, **request: Any) -> None:
        """A pull request that stays at the server."""
        payload = json.dumps({"batch": 5, "expires": 10 * MINUTE, **request}).encode()
        inbox = self.client.new_inbox()
        await self.client.subscribe(inbox)
        await self.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", payload, inbox)
        await self.client.flush()


@asynccontextmanager
async def standalone(client: Client, other: Client, version: str) -> AsyncIterator[None]:
    """All assets of the accounts APP and OTHER, alive as long as the block lasts."""
    api = Api(client)
    await _streams(api, version)
    await _buckets(api)
    await _consumers(api, version)
    await _push_consumers(api)
    await _newer_consumers(api, version)
    await _traffic(api)
    await Api(other).stream("ORDERS", subjects=["orders.>"])
    await Api(other).consumer("ORDERS", "worker")
    await Api(other).publish("orders.other", 2)
    await _settled(api)
    yield


async def _streams(api: Api, version: str) -> None:
    await api.stream("ORDERS", subjects=["orders.>"])
    await api.stream("EMPTY", subjects=["empty"], storage="memory")
    newer: Config = {}
    if since(version, "2.10.0"):
        newer = {"compression": "s2", "metadata": _WATCHED}
    await api.stream(
        "LIMITED",
        subjects=["limited.>"],
        max_msgs=100,
        max_bytes=1_000_000,
        max_age=60 * MINUTE,
        max_msg_size=4096,
        max_msgs_per_subject=50,
        max_consumers=10,
        duplicate_window=30 * SECOND,
        discard="old",
        **newer,
    )
    await api.stream("JOBS", subjects=["jobs.>"], retention="workqueue", storage="memory")
    await api.stream("EVENTS", subjects=["events.>"], retention="interest", discard="new")
    await api.stream("COPY", mirror={"name": "ORDERS"})
    gone = {"name": "GONE", "filter_subject": "gone.>"}
    await api.stream("GATHERED", sources=[{"name": "LIMITED"}, gone])


async def _buckets(api: Api) -> None:
    settings = await api.jetstream.create_key_value(bucket="settings", history=3)
    for number in range(5):
        await settings.put("colour", str(number).encode())
    await settings.put("size", b"7")
    await settings.delete("size")
    files = await api.jetstream.create_object_store("files")
    await files.put("notes.txt", b"some words" * 20)


async def _consumers(api: Api, version: str) -> None:
    await api.consumer("ORDERS", "worker", max_ack_pending=40)
    await api.consumer("ORDERS", "endless", max_ack_pending=-1, max_waiting=32)
    await api.consumer("ORDERS", "european", filter_subject="orders.eu")
    await api.consumer("ORDERS", "poisoned", max_deliver=2)
    await api.consumer("ORDERS", "patient", max_deliver=5, backoff=[10 * MINUTE, 20 * MINUTE])
    await api.consumer("ORDERS", "in-order", ack_policy="all")
    await api.consumer("ORDERS", "careless", ack_policy="none")
    await api.consumer(
        "ORDERS", "latest", deliver_policy="last_per_subject", filter_subject="orders.*"
    )
    short = {"ephemeral": True, "inactive_threshold": 30 * MINUTE}
    await api.consumer("ORDERS", "glance", **short)
    await api.consumer("JOBS", "crew", filter_subject="jobs.heavy")
    await api.consumer("EVENTS", "audience")
    watched = {"metadata": _WATCHED} if since(version, "2.10.0") else {}
    await api.consumer("LIMITED", "billing", max_deliver=10, **watched)


async def _push_consumers(api: Api) -> None:
    await api.client.subscribe("push.bound")
    await api.client.subscribe("push.glance")
    await api.consumer("LIMITED", "bound", deliver_subject="push.bound", ack_policy="none")
    await api.consumer("LIMITED", "unbound", deliver_subject="push.nobody")
    short = {"ephemeral": True, "inactive_threshold": 30 * MINUTE}
    steady = {"flow_control": True, "idle_heartbeat": 10 * SECOND}
    where = {"deliver_subject": "push.glance", "ack_policy": "none"}
    await api.consumer("LIMITED", "glance", **short, **steady, **where)


async def _newer_consumers(api: Api, version: str) -> None:
    if since(version, "2.10.0"):
        await api.consumer("ORDERS", "overseas", filter_subjects=["orders.us", "orders.asia"])
    if since(version, "2.11.0"):
        resume = datetime.now(UTC) + timedelta(hours=6)
        await api.consumer("ORDERS", "resting", pause_until=resume.isoformat())
        group = {"priority_groups": ["helpers"], "priority_policy": "overflow"}
        await api.consumer("ORDERS", "helped", **group)
        await api.wait_in_vain("ORDERS", "helped", group="helpers", min_pending=10_000)


async def _traffic(api: Api) -> None:
    for subject in ("orders.eu", "orders.us", "orders.asia"):
        await api.publish(subject, ORDERS // 3)
    await api.publish("limited.a", 12)
    for _ in range(3):
        await api.jetstream.publish("limited.b", b"once", headers={"Nats-Msg-Id": "same"})
    await api.publish("jobs.heavy", 4)
    await api.publish("jobs.light", 2)
    await api.publish("events.seen", 3)
    for sequence in (3, 4, 9):
        await api.request("STREAM.MSG.DELETE.ORDERS", {"seq": sequence})
    await _deliveries(api)
    await api.fetch("ORDERS", "latest", 3)
    await api.consumer("ORDERS", "asking", deliver_policy="new")
    await api.wait_in_vain("ORDERS", "asking")
    await api.wait_in_vain("ORDERS", "asking")


async def _deliveries(api: Api) -> None:
    worked = await api.fetch("ORDERS", "worker", 10)
    await _acked(*worked[:4], *worked[6:9])  # two holes: the floor stays behind
    await api.fetch("ORDERS", "endless", 6)
    await _acked(*(await api.fetch("ORDERS", "european", 8))[:5])
    await _acked((await api.fetch("ORDERS", "in-order", 7))[4])
    await api.fetch("ORDERS", "careless", 9)
    await _acked(*(await api.fetch("ORDERS", "glance", 2)))
    await _acked(*(await api.fetch("JOBS", "crew", 1)))
    await _acked(*(await api.fetch("EVENTS", "audience", 1)))
    await _acked(*(await api.fetch("LIMITED", "billing", 3))[1:])
    await _poison(api)


async def _poison(api: Api) -> None:
    """The first message is refused until the server gives it up; the others are acknowledged."""

    async def one_more() -> tuple[int, int]:
        for message in await api.fetch("ORDERS", "poisoned", 1):
            if message.metadata.sequence.stream == 1:
                await message.nak()
            else:
                await _acked(message)
        info = await api.request("CONSUMER.INFO.ORDERS.poisoned")
        return info["num_redelivered"], info["num_ack_pending"]

    # Only the pull after its last delivery makes the server give a message up.
    await until(one_more, lambda seen: seen == (1, 0), "the first message is not given up")


async def _acked(*messages: Msg) -> None:
    for message in messages:
        await message.ack_sync(timeout=10)


async def _settled(api: Api) -> None:
    """Waits until the copies are complete and the missing origin is reported."""

    async def copies() -> tuple[int, int, bool]:
        copy = (await api.request("STREAM.INFO.COPY"))["state"]["last_seq"]
        gathered = await api.request("STREAM.INFO.GATHERED")
        failed = any("error" in each for each in gathered["sources"])
        return copy, gathered["state"]["messages"], failed

    await until(copies, lambda seen: seen == (ORDERS, 13, True), "copies are not through")
