"""Many accounts are read in pages; none of them may be missing.

Pages of servers before 2.11.2 overlap, and some accounts fall between them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.exporter.source_polls import (
    http_access,
    monitor_source,
    nats_access,
    poll,
    system_source,
)
from support.nats.servers import (
    SYS,
    Account,
    Login,
    NatsServer,
    User,
    connected,
    default_options,
    versions,
)
from support.recordings.scenario import Api

from exporter.model import Snapshot

ACCOUNTS = [f"A{number}" for number in range(8)]


@pytest.fixture(params=versions())
async def many_accounts(request: pytest.FixtureRequest) -> AsyncIterator[NatsServer]:
    """A server with eight accounts, each with one stream."""
    system = next(each for each in default_options().accounts if each.name == "SYS")
    accounts = tuple(Account(name, (User(name, name),)) for name in ACCOUNTS)
    options = default_options(accounts=(*accounts, system))
    async with NatsServer(request.param, options) as server:
        for name in ACCOUNTS:
            async with connected(server, Login(name, name)) as client:
                await Api(client).stream("ORDERS", subjects=["orders"])
        yield server


def accounts_of(snapshot: Snapshot) -> list[str]:
    return sorted(stream.account for stream in snapshot.streams)


async def test_the_system_source_reads_every_page(many_accounts: NatsServer) -> None:
    async with system_source(nats_access(many_accounts, SYS)) as source:
        source.accounts_per_page = 3
        assert accounts_of(await poll(source)) == ACCOUNTS


async def test_the_monitor_source_reads_every_page(many_accounts: NatsServer) -> None:
    async with monitor_source(http_access(many_accounts)) as source:
        source.accounts_per_page = 3
        assert accounts_of(await poll(source)) == ACCOUNTS
