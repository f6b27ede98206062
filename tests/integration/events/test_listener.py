"""The event connection: it reconnects, reports denied subjects, and notices a dead server."""

import asyncio
import logging
import os
import signal

import pytest
from support.exporter.event_listeners import (
    access_to,
    all_received,
    listening,
    new_state,
    request,
    running,
    until_connected,
    until_received,
)
from support.nats.servers import (
    APP,
    NEWEST,
    SYS,
    Account,
    Login,
    NatsOptions,
    NatsServer,
    Permissions,
    User,
    connected,
    default_options,
)
from support.waiting import until

from exporter.events.connection import EventConnection, EventSubscription
from exporter.events.counts import EventCounts
from exporter.events.listener import (
    ACCOUNT_SUBJECTS,
    CONSUMER_ADVISORIES,
    STREAM_ADVISORIES,
    SYSTEM_SUBJECTS,
    Listener,
    ListenerConfig,
)

RESTRICTED = Login("restricted", "restricted")


async def make_stream(client_of: NatsServer, name: str) -> None:
    async with connected(client_of) as client:
        await request(client, f"STREAM.CREATE.{name}",
                  {"name": name, "subjects": [f"{name}.>"], "storage": "memory"})  # fmt: skip


def created(counts: EventCounts) -> int:
    return counts.advisories.get(("APP", "stream_created"), 0)


def log_fields(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, object]]:
    return [each.fields for each in caplog.records if each.getMessage() == message]  # type: ignore[attr-defined]


async def test_after_a_restart_of_the_server_it_listens_again(
    nats_server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with listening(nats_server) as listener:
        before = listener.connected_since
        await make_stream(nats_server, "FIRST")
        await until_received(listener.state, lambda seen: created(seen) == 1)
        await nats_server.kill()
        await until(lambda: since(listener), lambda seen: seen is None, "still connected")
        assert listener.connection.problem
        await nats_server.restart()
        after = await until_connected(listener.connection, not_since=before)
        assert before is not None
        assert after > before
        assert listener.connection.problem == ""
        await make_stream(nats_server, "SECOND")
        await until_received(listener.state, lambda seen: created(seen) == 2)
    assert listener.connected_since is None
    assert len(log_fields(caplog, "event subscriptions connected")) == 2
    assert len(log_fields(caplog, "event subscriptions not connected")) == 1


async def since(listener: Listener) -> float | None:
    return listener.connected_since


async def test_it_waits_for_a_server_that_is_not_there_yet(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with NatsServer(NEWEST, default_options()) as server:
        access = access_to(server)
        await server.stop()
        listener = Listener(ListenerConfig(access, "test"), new_state())
        task = asyncio.create_task(listener.run())

        async def problem() -> str:
            return listener.connection.problem

        await until(problem, lambda seen: bool(seen), "no problem reported")
        assert listener.connected_since is None
        await server.restart()
        await until_connected(listener.connection)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(log_fields(caplog, "event subscriptions not connected")) == 1


async def test_a_server_that_stops_responding_is_noticed() -> None:
    async with NatsServer(NEWEST, default_options()) as server:
        received: list[str] = []
        subscriptions = [
            EventSubscription("some.>", lambda message: received.append(message.subject))
        ]
        connection = EventConnection(access_to(server), "test", subscriptions, ping_interval=1)
        task = asyncio.create_task(connection.run())
        before = await until_connected(connection)
        os.kill(server.pid, signal.SIGSTOP)
        try:

            async def connected_since() -> float | None:
                return connection.connected_since

            await until(connected_since, lambda seen: seen is None, "taken for alive")
        finally:
            os.kill(server.pid, signal.SIGCONT)
        await until_connected(connection, not_since=before)
        async with connected(server) as client:
            await client.publish("some.word", b"")

        async def tokens() -> list[str]:
            return received

        await until(tokens, lambda seen: seen == ["some.word"], "deaf")
        assert connection.breaks == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def with_restricted_user(*allowed: str) -> NatsOptions:
    permissions = Permissions(subscribe_allow=allowed)
    restricted = User(RESTRICTED.user, RESTRICTED.password, permissions=permissions)
    return NatsOptions(
        accounts=(
            Account("APP", (User("app", "app"), restricted)),
            Account("SYS", (User("sys", "sys"),), jetstream=False),
        )
    )


async def test_a_denied_subject_is_logged_once_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        NatsServer(NEWEST, with_restricted_user(STREAM_ADVISORIES)) as server,
        listening(server, RESTRICTED) as listener,
    ):
        assert listener.connection.denied == set(ACCOUNT_SUBJECTS) - {STREAM_ADVISORIES}
        # Naks would be missed: their absence must not count as a proof.
        assert listener.connected_since is None
        await make_stream(server, "FIRST")
        await until_received(listener.state, lambda seen: created(seen) == 1)
        before = listener.connection.connected_since
        await server.restart()
        await until_connected(listener.connection, not_since=before)
        await make_stream(server, "SECOND")
        await until_received(listener.state, lambda seen: created(seen) == 2)
    warned = log_fields(caplog, "subscription denied, grant the subscribe permission")
    assert [each["denied"] for each in warned] == [
        f"{CONSUMER_ADVISORIES}, $JS.EVENT.METRIC.CONSUMER.ACK.>"
    ]


async def test_a_permission_taken_away_and_given_back_is_noticed_without_a_new_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    received: list[str] = []
    subscriptions = [EventSubscription(subject, lambda message: received.append(message.subject))
            for subject in ("some.>", "other.>")]  # fmt: skip
    async with NatsServer(NEWEST, with_restricted_user("some.>", "other.>")) as server:
        connection = EventConnection(
            access_to(server, RESTRICTED), "test", subscriptions, ping_interval=1, retry=0
        )
        task = asyncio.create_task(connection.run())
        before = await until_connected(connection)

        async def denied() -> frozenset[str]:
            return connection.denied

        await reload_with(server, "other.>", "nothing.>")
        await until(denied, lambda seen: seen == {"other.>"}, "not noticed")
        await reload_with(server, "nothing.>", "other.>")
        await until(denied, lambda seen: seen == frozenset(), "not retried")
        after = await until_connected(connection, not_since=before)
        async with connected(server) as client:
            await client.publish("some.word", b"")
            await client.publish("other.word", b"")
            await client.flush()

        async def tokens() -> list[str]:
            return sorted(received)

        await until(
            tokens,
            lambda seen: seen == ["other.word", "some.word"],
            "not received, or received twice",
        )
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert after > before
    assert len(log_fields(caplog, "subscription denied, grant the subscribe permission")) == 1
    assert len(log_fields(caplog, "subscriptions no longer denied")) == 1


async def reload_with(server: NatsServer, old: str, new: str) -> None:
    """Changes the configuration of a running server."""

    def change() -> None:
        assert server._folder is not None
        file = server._folder / "nats.conf"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    reloads = (await server.log_text()).count("Reloaded server configuration")
    await asyncio.to_thread(change)
    os.kill(server.pid, signal.SIGHUP)
    await until(
        server.log_text,
        lambda log: log.count("Reloaded server configuration") > reloads,
        "not reloaded",
    )


async def test_advisories_are_received_without_ack_samples() -> None:
    allowed = (STREAM_ADVISORIES, CONSUMER_ADVISORIES)
    async with (
        NatsServer(NEWEST, with_restricted_user(*allowed)) as server,
        listening(server, RESTRICTED) as listener,
    ):
        assert listener.connection.denied == {"$JS.EVENT.METRIC.CONSUMER.ACK.>"}
        assert listener.connected_since is not None


async def test_the_subjects_and_no_inbox_are_all_that_it_needs(nats_server: NatsServer) -> None:
    """It sends no requests, so it needs no permission to publish."""
    options = with_restricted_user(*ACCOUNT_SUBJECTS)
    async with (
        NatsServer(nats_server.version, options) as server,
        listening(server, RESTRICTED) as listener,
        connected(server) as client,
    ):
        assert listener.connection.denied == frozenset()
        assert listener.connected_since is not None
        await make_stream(server, "FIRST")
        await all_received(listener.state, client, lambda seen: created(seen) == 1)
        assert "Violation" not in await server.log_text()


def test_it_never_listens_to_the_audit_of_the_api() -> None:
    for subject in (*ACCOUNT_SUBJECTS, *SYSTEM_SUBJECTS):
        assert subject not in ("$JS.EVENT.>", "$JS.EVENT.ADVISORY.>", "$JS.EVENT.ADVISORY.API")
        assert not subject.startswith("$JS.EVENT.ADVISORY.API.>")


async def test_a_malformed_advisory_is_counted_and_the_next_one_received(
    nats_server: NatsServer,
) -> None:
    async with listening(nats_server) as listener, connected(nats_server) as client:
        await client.publish("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.S.C", b"not json")
        await client.publish("$JS.EVENT.METRIC.CONSUMER.ACK.S.C", b'{"ack_time":-5}')
        await client.publish("$JS.EVENT.ADVISORY.CONSUMER.TELEPORTED.S.C", b"{}")
        await client.flush()
        counts = await all_received(
            listener.state, client, lambda seen: sum(seen.advisories.values()) >= 3
        )
    assert counts.advisories["APP", "malformed"] == 2
    assert counts.advisories["APP", "other"] == 1
    assert counts.consumers == {}


async def test_an_exception_in_a_handler_does_not_end_the_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    received: list[bytes] = []

    def handler(message: object) -> None:
        data = message.data  # type: ignore[attr-defined]
        if data == b"odd":
            raise KeyError("a bug")
        received.append(data)

    async with NatsServer(NEWEST, default_options()) as server:
        connection = EventConnection(
            access_to(server), "test", [EventSubscription("some.>", handler)]
        )
        task = asyncio.create_task(connection.run())
        await until_connected(connection)
        async with connected(server) as client:
            for data in (b"odd", b"odd", b"even"):
                await client.publish("some.word", data)

            async def tokens() -> list[bytes]:
                return received

            await until(tokens, lambda seen: seen == [b"even"], "deaf")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(log_fields(caplog, "event handler failed")) == 1


async def test_events_of_another_domain_are_counted_apart(nats_server: NatsServer) -> None:
    """As they arrive over a leaf node: the names may be the same and mean other assets."""
    options = default_options(domain="hub")
    async with (
        NatsServer(nats_server.version, options) as server,
        listening(server) as listener,
        listening(server, domain="edge") as of_edge,
        connected(server) as client,
    ):
        nak = b'{"stream":"S","consumer":"C","stream_seq":1,"domain":"edge"}'
        await client.publish("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.S.C", nak)
        await client.flush()
        counts = await all_received(
            listener.state, client, lambda seen: ("APP", "other_domain") in seen.advisories
        )
        own = await until_received(
            of_edge.state, lambda seen: ("APP", "other_domain") in seen.advisories
        )
    assert counts.advisories == {("APP", "other_domain"): 1, ("APP", "stream_created"): 1}
    assert own.advisories == {("APP", "consumer_msg_naked"): 1, ("APP", "other_domain"): 1}


async def test_a_stopped_listener_leaves_no_connection_behind(nats_server: NatsServer) -> None:
    listener = Listener(ListenerConfig(access_to(nats_server, APP), "test"), new_state())
    async with running(listener):
        assert listener.connection.server_info
    assert listener.connection.server_info == {}
    system = Listener(
        ListenerConfig(access_to(nats_server, SYS), "t", of_system_account=True), new_state()
    )
    async with running(system):
        assert system.connection.denied == frozenset()
