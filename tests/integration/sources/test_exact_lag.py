"""The exact lag: a message's true age against what the exporter says of it, on real servers."""

import logging
from typing import Any

import pytest
from support.exporter.source_polls import api, create_stream
from support.nats.servers import (
    NEWEST,
    Account,
    Login,
    NatsCluster,
    NatsOptions,
    NatsServer,
    Permissions,
    User,
    connected,
    versions,
)
from support.signals.exact_requests import (
    DIGITS_SECONDS,
    EXACT,
    exact_polls,
    key,
    orders,
    stored_at,
)
from support.signals.known_workload import version_of
from support.signals.ledger import NAK, SECOND, Workload
from support.signals.observations import ACCOUNT
from support.waiting import until

from exporter.signals.results import ConsumerSignals
from exporter.sources.exact_requests.reader import PreciseOptions

RESTRICTED = Login("restricted", "restricted")


def with_restricted_user(permissions: Permissions) -> NatsOptions:
    restricted = User(RESTRICTED.user, RESTRICTED.password, permissions=permissions)
    return NatsOptions(
        accounts=(
            Account(ACCOUNT, (User("app", "app"), restricted)),
            Account("SYS", (User("sys", "sys"),), jetstream=False),
        )
    )


@pytest.mark.parametrize("direct", [True, False])
async def test_the_lag_is_the_age_of_the_first_message_that_is_not_finished(
    nats_server: NatsServer, direct: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = await orders(client, direct=direct)
        unread = await work.consumer("unread")
        held = await work.consumer("held")
        done = await work.consumer("done")
        await work.fetch("held", 6)
        await work.response("held", [1, 2, 3, 5])
        await work.drain("done")
        await seen.poll_twice()
        seen.assert_exact(unread, 1, await stored_at(client, "ORDERS", 1))
        seen.assert_exact(held, 4, await stored_at(client, "ORDERS", 4))
        assert key(done) not in seen.precise.lags
        assert (seen.of(done).lag, seen.of(done).lag_exact) == (0.0, 1)

        await work.response("held", [4])
        await seen.poll()  # what was acked since the look before is passed over at once
        seen.assert_exact(held, 6, await stored_at(client, "ORDERS", 6))
        told = seen.outcome("exact_lag")
        assert told is not None
        assert told.ok
        assert "x" * 16 not in caplog.text + repr(seen.precise) + repr(seen.reader)


@pytest.mark.parametrize("direct", [True, False])
async def test_a_filtered_consumer_lags_behind_what_passes_its_filter(
    nats_server: NatsServer, direct: bool
) -> None:
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = await orders(client, direct=direct)
        narrow = await work.consumer("narrow", filter_subject="orders.c")
        await work.fetch("narrow", 2)
        await work.response("narrow", [3])
        await seen.poll_twice()
        seen.assert_exact(narrow, 6, await stored_at(client, "ORDERS", 6))
        await work.response("narrow", [6])
        await seen.poll()
        seen.assert_exact(narrow, 9, await stored_at(client, "ORDERS", 9))


async def test_of_several_filters_the_earliest_message_counts(nats_server: NatsServer) -> None:
    if version_of(nats_server) < (2, 10):
        pytest.skip("one filter only before 2.10")
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = await orders(client)
        both = await work.consumer("both", filter_subjects=["orders.c", "orders.b"])
        await seen.poll_twice()
        seen.assert_exact(both, 2, await stored_at(client, "ORDERS", 2))
        await work.fetch("both", 1)
        await work.response("both", [2])
        await seen.poll()
        seen.assert_exact(both, 3, await stored_at(client, "ORDERS", 3))


async def test_when_the_message_is_gone_the_next_one_counts(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = await orders(client)
        slow = await work.consumer("slow")
        picky = await work.consumer("picky", filter_subject="orders.b")
        await seen.poll_twice()
        seen.assert_exact(picky, 2, await stored_at(client, "ORDERS", 2))
        await work.delete(2)
        await seen.poll()
        seen.assert_exact(picky, 5, await stored_at(client, "ORDERS", 5))
        seen.assert_exact(slow, 1, await stored_at(client, "ORDERS", 1))
        await work.purge(seq=5)
        await seen.poll()
        seen.assert_exact(slow, 5, await stored_at(client, "ORDERS", 5))


async def test_messages_that_expire_leave_no_lag_behind(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = await orders(client, max_age=2 * SECOND)
        late = await work.consumer("late", filter_subject="orders.a")
        await seen.poll_twice()
        assert key(late) in seen.precise.lags
        await work.until_expired()
        await work.publish(1, "b")
        await work.publish(1, "a")
        newest = max(work.stored)
        await seen.poll_twice()
        seen.assert_exact(late, newest, await stored_at(client, "ORDERS", newest))


async def test_a_mirror_that_answers_for_its_origin_is_not_believed(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client:
        work = await orders(client)
        copy: dict[str, Any] = {"subjects": None, "allow_direct": True, "mirror_direct": True}
        await create_stream(client, "COPY", mirror={"name": "ORDERS"}, **copy)
        slow = await work.consumer("slow", filter_subject="orders.b")
        await until(
            lambda: api(client, "STREAM.INFO.COPY"),
            lambda info: info["state"]["messages"] == 12,
            "the mirror does not fill",
        )
        await work.delete(2)  # the mirror keeps it
        for _ in range(8):  # whoever answers is drawn by lot
            async with exact_polls(nats_server) as seen:
                await seen.poll_twice()
                seen.assert_exact(slow, 5, await stored_at(client, "ORDERS", 5))


async def test_headers_of_the_message_are_not_taken_for_those_of_the_server(
    nats_server: NatsServer,
) -> None:
    forged = {
        "Nats-Stream": "OTHER",
        "Nats-Sequence": "777",
        "Nats-Time-Stamp": "2001-01-01T00:00:00Z",
        "Status": "503",
    }
    async with connected(nats_server) as client, exact_polls(nats_server) as seen:
        work = Workload(client, "ORDERS")
        await work.create(allow_direct=True)
        await client.request("orders.a", b"", headers=forged, timeout=10)
        slow = await work.consumer("slow")
        await seen.poll_twice()
        seen.assert_exact(slow, 1, await stored_at(client, "ORDERS", 1))


async def test_no_poll_asks_for_more_messages_than_it_may(nats_server: NatsServer) -> None:
    options = PreciseOptions(exact_lag=True, lags_per_poll=2)
    async with connected(nats_server) as client, exact_polls(nats_server, options) as seen:
        work = await orders(client)
        ledgers = [await work.consumer(f"slow{number}") for number in range(5)]
        await seen.poll()
        assert seen.precise.lags == {}
        for known in (2, 4, 5, 5):  # those that were read need no second request
            await seen.poll()
            assert len(seen.precise.lags) == known
            exact = [ledger for ledger in ledgers if seen.of(ledger).lag_exact == 1]
            assert len(exact) == known
        assert all(lag is not None for lag in (seen.of(ledger).lag for ledger in ledgers))


async def test_messages_are_read_only_for_whoever_asked_for_it(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, exact_polls(nats_server, PreciseOptions()) as seen:
        work = await orders(client)
        slow = await work.consumer("slow")
        await seen.poll_twice()
        assert (seen.precise.lags, seen.outcome("exact_lag")) == ({}, None)
        assert seen.of(slow).lag_exact == 0


@pytest.mark.parametrize("direct", [True, False])
async def test_what_is_denied_is_reported_as_such_and_then_rests(direct: bool) -> None:
    denied = ("$JS.API.DIRECT.GET.>", "$JS.API.STREAM.MSG.GET.>", "$JS.API.STREAM.INFO.>")
    options = with_restricted_user(Permissions(publish_deny=denied))
    async with (
        NatsServer(NEWEST, options) as server,
        connected(server) as client,
        exact_polls(server, EXACT, RESTRICTED) as seen,
    ):
        work = await orders(client, direct=direct)
        slow = await work.consumer("slow", filter_subject="orders.b")
        await seen.poll_twice()
        told = seen.outcome("exact_lag")
        assert told is not None
        assert (told.ok, told.reason) == (False, "permission")
        assert ("DIRECT.GET" if direct else "STREAM.MSG.GET") in told.detail
        resting = {("exact_lag", "permission"), ("filtered_counts", "permission")}
        assert {(s.request, s.reason) for s in seen.precise.skipped} == resting
        await seen.poll()
        assert seen.precise.outcomes == ()
        assert {(s.request, s.reason) for s in seen.precise.skipped} == resting
        assert seen.of(slow).lag_exact == 0


@pytest.mark.parametrize("version", versions())
async def test_it_needs_no_more_than_these_permissions(version: str) -> None:
    """The two that read messages are the only ones beyond those of the account source."""
    allowed = (
        "$JS.API.INFO",
        "$JS.API.STREAM.LIST",
        "$JS.API.CONSUMER.LIST.*",
        "$JS.API.STREAM.INFO.*",
        "$JS.API.CONSUMER.INFO.*.*",
        "$SYS.REQ.ACCOUNT.PING.STATZ",
        "$SYS.REQ.USER.INFO",
        "$JS.API.DIRECT.GET.*",
        "$JS.API.STREAM.MSG.GET.*",
    )
    options = with_restricted_user(Permissions(publish_allow=allowed))
    async with (
        NatsServer(version, options) as server,
        connected(server) as client,
        exact_polls(server, EXACT, RESTRICTED) as seen,
    ):
        work = await orders(client)
        await create_stream(client, "PLAIN", allow_direct=False)
        plain = Workload(client, "PLAIN")
        await client.request("plain", b"x", timeout=10)
        slow = await work.consumer("slow", filter_subject="orders.b")
        other = await plain.consumer("other")
        await seen.poll_twice()
        assert all(outcome.ok for outcome in seen.precise.outcomes)
        assert set(seen.precise.lags) == {key(slow), key(other)}


async def test_copies_of_a_stream_say_the_same_as_its_leader(nats_cluster: NatsCluster) -> None:
    async with connected(nats_cluster) as client, exact_polls(nats_cluster) as seen:
        work = await orders(client, num_replicas=3)
        held = await work.consumer("held", filter_subject="orders.b")
        await seen.poll()
        await work.fetch("held", 3)
        await work.response("held", [2])
        await work.response("held", [8], NAK)
        await work.fetch("held", 2)
        stored = await stored_at(client, "ORDERS", 5)

        async def caught_up() -> ConsumerSignals:
            await seen.poll()
            return seen.of(held)

        told = await until(
            caught_up,
            lambda told: (told.blocking_stream_seq, told.redelivery_exact) == (5, 1),
            "the message is not found",
        )
        assert (told.redeliveries, held.redeliveries, told.lag_exact) == (1, 1, 1)
        reading = seen.precise.lags[key(held)]
        assert abs(reading.stored - stored) <= DIGITS_SECONDS
