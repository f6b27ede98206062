"""Creates streams and consumers on a real server: a violation and a near miss per check."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from support.recordings.scenario import Api, since

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
WORKER: Final = "worker"

Config = dict[str, Any]
Act = Callable[[Api, str], Awaitable[None]]


@dataclass(frozen=True)
class Asset:
    """A stream and, unless it is None, a consumer named worker on it."""

    stream: Config = field(default_factory=dict)
    consumer: Config | None = None
    messages: int = 0
    bytes: int = 10  # of each message
    then: Act | None = None  # runs after the creation
    bucket: bool = False
    lives: bool = False  # messages are published during the audit


@dataclass(frozen=True)
class Row:
    code: str
    bad: Asset
    good: Asset
    since: str = "2.9.0"
    about: str = ""  # suffix for checks with several rows

    def name_of(self, asset: Asset) -> str:
        kind = "bad" if asset is self.bad else "good"
        name = f"{self.code}{self.about}-{kind}"
        return f"KV_{name}" if asset.bucket else name

    def fits(self, version: str) -> bool:
        return since(version, self.since)


async def make(api: Api, name: str, asset: Asset) -> None:
    plain = bucket_config(name) if asset.bucket else {"subjects": [f"{name}.>"]}
    await api.stream(name, **{**plain, "num_replicas": 1, **asset.stream})
    if asset.consumer is not None:
        await make_consumer(api, name, WORKER, asset.consumer)
    for number in range(asset.messages):
        await api.jetstream.publish(subject_of(name, number), b"x" * asset.bytes)
    if asset.then is not None:
        await asset.then(api, name)


def bucket_config(name: str) -> Config:
    """The configuration of a key-value bucket, as in client libraries."""
    return {
        "subjects": [f"$KV.{name.removeprefix('KV_')}.>"],
        "max_msgs_per_subject": 1,
        "discard": "new",
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_direct": True,
    }


async def make_consumer(api: Api, stream: str, name: str, config: Config) -> None:
    whole = {"name": name, "ack_policy": "explicit", "ack_wait": 30 * SECOND, **config}
    if not whole.pop("ephemeral", False):
        whole["durable_name"] = name
    request = {"stream_name": stream, "config": whole}
    await api.request(f"CONSUMER.CREATE.{stream}.{name}", request)


async def change(api: Api, name: str, **changes: Any) -> None:
    """Like `nats stream edit`: sends the whole configuration with changes."""
    info = await api.request(f"STREAM.INFO.{name}")
    await api.request(f"STREAM.UPDATE.{name}", {**info["config"], **changes})


async def change_consumer(api: Api, stream: str, name: str, **changes: Any) -> None:
    """Like `nats consumer edit`."""
    info = await api.request(f"CONSUMER.INFO.{stream}.{name}")
    request = {"stream_name": stream, "config": {**info["config"], **changes}}
    await api.request(f"CONSUMER.CREATE.{stream}.{name}", request)


def subject_of(stream: str, number: int) -> str:
    return f"{stream}.{number % 3}"
