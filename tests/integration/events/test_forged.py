"""Events that a client of the account invents: they are bounded and counted, and a rule denies them."""

import json

import pytest
from support.exporter.event_listeners import listening, until_received
from support.nats.servers import (
    APP,
    NEWEST,
    Account,
    Login,
    NatsOptions,
    NatsServer,
    Permissions,
    User,
    connected,
)

from exporter.events.bounded_states import MOST_UNKNOWN

FORGER = Login("forger", "forger")
EXTRA = 2_000


def options(permissions: Permissions) -> NatsOptions:
    forger = User(FORGER.user, FORGER.password, permissions=permissions)
    return NatsOptions(accounts=(Account("APP", (User("app", "app"), forger)),))


async def forge(server: NatsServer, login: Login, first: int, end: int) -> None:
    async with connected(server, login) as client:
        for number in range(first, end):
            sample = {"stream": "FORGED", "consumer": f"c{number}", "ack_time": 1_000_000}
            subject = f"$JS.EVENT.METRIC.CONSUMER.ACK.FORGED.c{number}"
            await client.publish(subject, json.dumps(sample).encode())
            if number % 500 == 0:  # slower than the queue of the subscription
                await client.flush()
        await client.flush()


async def test_forged_samples_are_bounded_and_counted() -> None:
    async with (
        NatsServer(NEWEST, options(Permissions())) as server,
        listening(server) as listener,
    ):
        await forge(server, FORGER, 0, MOST_UNKNOWN + EXTRA)
        await until_received(listener.state, lambda _: listener.state.dropped == EXTRA)
        assert len(listener.state.counts().consumers) == MOST_UNKNOWN


@pytest.mark.parametrize("login", [FORGER, APP])
async def test_the_documented_rule_denies_them(login: Login) -> None:
    denied = Permissions(publish_deny=("$JS.EVENT.>",))
    async with NatsServer(NEWEST, options(denied)) as server, listening(server) as listener:
        await forge(server, login, 0, 3)
        async with connected(
            server
        ) as client:  # a user without the rule, so that the order is known
            last = {"stream": "ORDERS", "consumer": "last", "ack_time": 1}
            await client.publish(
                "$JS.EVENT.METRIC.CONSUMER.ACK.ORDERS.last", json.dumps(last).encode()
            )
            await client.flush()
        counts = await until_received(
            listener.state, lambda seen: ("APP", "ORDERS", "last") in seen.consumers
        )
        forged = [key for key in counts.consumers if key[1] == "FORGED"]
        assert len(forged) == (0 if login is FORGER else 3)
