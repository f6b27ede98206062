"""Real nats-servers for tests: which versions, which accounts, how to connect."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from nats.aio.client import Client
from streamgauge.demo.nats_server.cluster import Login, NatsCluster
from streamgauge.demo.nats_server.options import (
    Account,
    NatsOptions,
    Permissions,
    Tls,
    User,
    sample_accounts,
)
from streamgauge.demo.nats_server.server import NatsServer, NatsServerError
from streamgauge.demo.processes.programs import NATS_SERVER_VERSIONS

__all__ = [
    "APP",
    "NEWEST",
    "NOJS",
    "OLDEST",
    "OTHER",
    "READER",
    "SYS",
    "VERSIONS",
    "Account",
    "Login",
    "NatsCluster",
    "NatsOptions",
    "NatsServer",
    "NatsServerError",
    "Permissions",
    "Tls",
    "User",
    "connect",
    "connected",
    "default_options",
    "versions",
    "with_reader",
]

VERSIONS: Final = NATS_SERVER_VERSIONS
OLDEST: Final = VERSIONS[0]
NEWEST: Final = VERSIONS[-1]

# The users of the default account layout: one of each account, named like it.
APP: Final = Login("app", "app")
OTHER: Final = Login("other", "other")
NOJS: Final = Login("nojs", "nojs")
SYS: Final = Login("sys", "sys")
# Only where a test needs it.
READER: Final = Login("reader", "reader")


def versions() -> tuple[str, ...]:
    """The oldest and the newest; all of them in the long run; else those of the variable."""
    chosen = tuple(os.environ.get("STREAMGAUGE_NATS_VERSIONS", "").split())
    if set(chosen) - set(VERSIONS):
        raise ValueError(f"STREAMGAUGE_NATS_VERSIONS: {chosen} are not all of {VERSIONS}")
    return chosen or (VERSIONS if long_run() else (OLDEST, NEWEST))


def long_run() -> bool:
    return os.environ.get("STREAMGAUGE_LONG") == "1"


def default_options(**changes: object) -> NatsOptions:
    """The default account layout: APP, OTHER, NOJS (without JetStream), SYS."""
    return NatsOptions(**{"accounts": sample_accounts(), **changes})  # type: ignore[arg-type]


def with_reader(account: str, permissions: Permissions | None) -> NatsOptions:
    """The default accounts, and in that one another user, with these permissions."""
    reader = User(READER.user, READER.password, permissions=permissions)
    accounts = tuple(
        replace(each, users=(*each.users, reader)) if each.name == account else each
        for each in sample_accounts()
    )
    return default_options(accounts=accounts)


class OrderedClient(Client):
    """After `flush` the server has carried out all that was sent before."""

    async def flush(self, timeout: int = 60) -> None:
        await super().flush(timeout)  # the library's ping overtakes commands that are not sent yet
        await super().flush(timeout)


async def connect(server: NatsServer | NatsCluster, user: Login = APP) -> Client:
    """A client that gives up at once: a test that loses its server wants to know."""
    if isinstance(server, NatsCluster):
        urls = [node.url for node in server.nodes if node.running]
    else:
        urls = [server.url]
    client = OrderedClient()
    await client.connect(
        urls,
        user=user.user,
        password=user.password,
        allow_reconnect=False,
        # Without these the library retries a dead address for two minutes before it fails.
        max_reconnect_attempts=1,
        reconnect_time_wait=0.05,
    )
    return client


@asynccontextmanager
async def connected(server: NatsServer | NatsCluster, user: Login = APP) -> AsyncIterator[Client]:
    """The same for `async with`."""
    client = await connect(server, user)
    try:
        yield client
    finally:
        await client.close()
