"""TLS that is configured is required: without it no connection gets the credentials."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import nkeys  # type: ignore[import-untyped]
import pytest
from aiohttp import ClientSession, web
from support.audit.command import audit
from support.certificates import Authority
from support.exporter.source_polls import (
    account_source,
    failures,
    monitor_source,
    nats_access,
    outcome,
    poll,
    system_source,
)
from support.nats.jwt_accounts import JwtAccount, Key
from support.nats.plain_server import PlainServer, plain_server, plain_websocket
from support.nats.servers import Login, NatsServer, Tls, default_options, versions
from support.waiting import until

from exporter.errors import RequestError
from exporter.events.connection import EventConnection, EventSubscription
from exporter.events.subscriptions import account_access
from exporter.settings.events import EventAccountSettings
from exporter.sources.monitor import HttpAccess
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess, TlsAccess
from streamgauge.demo.nats_server.options import Ports
from streamgauge.demo.processes.ports import free_ports

NO_TLS: Final = "TLS is required by the configuration, but the server does not offer it"
SECRET: Final = "open-sesame"
# The log then has every command of a client.
TRACE: Final = ("debug: true", "trace: true")

# The library passes a timeout to aiohttp in a deprecated form.
over_websocket = pytest.mark.filterwarnings("ignore:parameter 'timeout' of type")
each_version = pytest.mark.parametrize("version", versions())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("logins")
    seed = folder / "seed"
    seed.write_text(Key(nkeys.PREFIX_BYTE_USER).seed.decode())
    return {
        "password": {"user": "app", "password": SECRET},
        "token": {"token": SECRET},
        "nkey": {"nkey_seed_file": seed},
        "creds": {"creds_file": JwtAccount("APP").write_creds(folder / "user.creds")},
    }


async def opened(access: NatsAccess) -> str:
    """Reason and detail of the failure; empty if it did not."""
    connection = NatsConnection(access, "test")
    try:
        await connection.open()
    except RequestError as error:
        return f"{error.reason}: {error.detail}"
    finally:
        await connection.close()
    return ""


@pytest.mark.parametrize("login", ["password", "token", "nkey", "creds"])
@pytest.mark.parametrize("required_by", ["scheme", "block", "ca", "other address"])
async def test_a_server_without_tls_receives_no_byte(
    login: str, required_by: str, authority: Authority, logins: dict[str, dict[str, Any]]
) -> None:
    async with plain_server() as plain:
        url = f"nats://{plain.host}"
        secure = f"tls://{plain.host}"
        ways: dict[str, dict[str, Any]] = {
            "scheme": {"addresses": (secure,)},
            "block": {"tls": TlsAccess()},
            "ca": {"tls": TlsAccess(authority.cert)},
            "other address": {"addresses": (url, secure)},
        }
        access = NatsAccess(**{"addresses": (url,), **ways[required_by], **logins[login]})
        why = await opened(access)
    assert (plain.connections, bytes(plain.received)) == (len(access.addresses), b"")
    assert why == "connection: " + "; ".join(f"{address}: {NO_TLS}" for address in access.addresses)


@pytest.mark.parametrize("login", ["password", "token", "nkey", "creds"])
async def test_without_tls_settings_a_plain_server_is_used(
    login: str, logins: dict[str, dict[str, Any]]
) -> None:
    """The counterpart: the plain server of these tests would take the credentials."""
    async with plain_server() as plain:
        assert await opened(NatsAccess((f"nats://{plain.host}",), **logins[login])) == ""
    assert plain.received.startswith(b"CONNECT {")


async def test_credentials_in_the_address_stay_here() -> None:
    async with plain_server() as plain:
        why = await opened(NatsAccess((f"tls://app:{SECRET}@{plain.host}",)))
    assert bytes(plain.received) == b""
    assert why == f"connection: tls://{plain.host}: {NO_TLS}"


@pytest.mark.parametrize("login", ["password", "token", "nkey", "creds"])
async def test_with_tls_first_only_the_handshake_is_sent(
    login: str, logins: dict[str, dict[str, Any]]
) -> None:
    async with plain_server() as plain:
        access = NatsAccess((f"nats://{plain.host}",), tls=TlsAccess(first=True), **logins[login])
        why = await opened(access)
    assert why.startswith(f"connection: nats://{plain.host}: {NO_TLS} (")
    assert_no_connect(plain)


def assert_no_connect(plain: PlainServer) -> None:
    assert b"CONNECT" not in plain.received
    assert SECRET.encode() not in plain.received


@pytest.mark.parametrize("offer", ["tls_required", "tls_available"])
async def test_a_server_that_only_claims_tls_gets_a_handshake(offer: str) -> None:
    async with plain_server(**{offer: True}) as plain:
        access = NatsAccess((f"tls://{plain.host}",), "app", SECRET)
        why = await opened(access)
    assert why.startswith(f"connection: tls://{plain.host}: {NO_TLS} (")
    assert_no_connect(plain)


@each_version
async def test_a_node_of_the_cluster_without_tls_is_refused(
    version: str, authority: Authority
) -> None:
    own = await asyncio.to_thread(authority.issue, "server")
    plain_options = default_options(cluster_name="C1", server_name="n2", extra=TRACE)
    options = replace(plain_options, server_name="n1", tls=Tls(own.cert, own.key))
    numbers = await asyncio.to_thread(free_ports, 6)
    ports = (Ports(*numbers[:3]), Ports(*numbers[3:]))
    first = NatsServer(version, options, ports=ports[0], routes=[ports[1].cluster])
    second = NatsServer(version, plain_options, ports=ports[1], routes=[ports[0].cluster])
    try:
        await asyncio.gather(first.start(healthy=False), second.start(healthy=False))
        connection = NatsConnection(nats_access(first, tls=TlsAccess(authority.cert)), "test")

        async def known_servers() -> list[str]:
            await connection.close()
            await connection.open()
            return list(connection.server_info.get("connect_urls", ()))

        host = f"127.0.0.1:{ports[1].client}"
        await until(known_servers, lambda seen: host in seen, "not discovered")
        await first.stop()
        with pytest.raises(RequestError) as refused:
            await connection.open()
        log = await second.log_text()
        without_tls = await opened(nats_access(second))
        log_without_tls = await second.log_text()
    finally:
        await first.close()
        await second.close()
    assert refused.value.reason == "connection"
    assert f"tls://{host}: {NO_TLS}" in refused.value.detail
    assert "Client connection created" in log
    assert connect_commands(log) == []
    # The counterpart: the log would have shown it.
    assert (without_tls, len(connect_commands(log_without_tls))) == ("", 1)


def connect_commands(log: str) -> list[str]:
    """Those of clients, not of routes."""
    return [line for line in log.splitlines() if " cid:" in line and "CONNECT" in line]


async def tls_versions_of_clients(server: NatsServer) -> list[str | None]:
    """By connection, as the server reports them."""
    async with ClientSession(server.monitor_url) as session, session.get("/connz") as response:
        connections = (await response.json())["connections"]
    return [each.get("tls_version") for each in connections]


@each_version
async def test_real_servers_with_optional_and_without_tls(
    version: str, authority: Authority
) -> None:
    own = await asyncio.to_thread(authority.issue, "server")
    optional = default_options(tls=Tls(own.cert, own.key), extra=("allow_non_tls: true",))
    async with (
        NatsServer(version, optional) as offering,
        NatsServer(version, default_options(extra=TRACE)) as plain,
    ):
        tls = TlsAccess(authority.cert)
        async with account_source(nats_access(offering, tls=tls)) as source:
            accepted = await poll(source)
            tls_versions = await tls_versions_of_clients(offering)
        access = nats_access(plain, tls=tls)
        async with account_source(access) as account, system_source(access) as system:
            refused = [await poll(account), await poll(system)]
        log = await plain.log_text()
    assert (failures(accepted), tls_versions) == ({}, ["1.3"])
    assert [failures(each) for each in refused] == [
        {"stream_list": "connection"},
        {"statsz": "connection"},
    ]
    for snapshot in refused:
        details = {each.detail for each in snapshot.outcomes if not each.ok}
        assert details == {f"{plain.url}: {NO_TLS}"}
    assert "Client connection created" in log
    assert connect_commands(log) == []


async def test_the_connection_for_events_requires_tls_too() -> None:
    async with plain_server() as plain:
        access = NatsAccess((f"tls://{plain.host}",), "app", SECRET)
        wanted = [EventSubscription("some.>", lambda _: None)]
        connection = EventConnection(access, "test", wanted)
        task = asyncio.create_task(connection.run())

        async def problem() -> str:
            return connection.problem

        why = await until(problem, bool, "no problem")
        connection.stop()
        await task
    assert why == f"tls://{plain.host}: {NO_TLS}"
    assert bytes(plain.received) == b""


def test_the_account_of_events_inherits_the_requirement_with_the_addresses() -> None:
    source = NatsAccess(("nats://a:4222",), tls=TlsAccess())
    plain = NatsAccess(("nats://a:4222",))
    settings = EventAccountSettings(user="app")
    elsewhere = EventAccountSettings(user="app", urls=("nats://b:4222",))
    required = [account_access(settings, each).requires_tls for each in (source, plain)]
    assert required == [True, False]
    assert account_access(elsewhere, source).requires_tls is False


async def test_the_audit_requires_tls_too() -> None:
    async with plain_server() as plain:
        ran = await audit(f"tls://{plain.host}", Login("app", SECRET), "--format", "table")
    assert (ran.code, bytes(plain.received)) == (2, b"")
    assert f"tls://{plain.host}: {NO_TLS}" in ran.complaints


@over_websocket
async def test_a_websocket_with_tls_is_used(authority: Authority) -> None:
    own = await asyncio.to_thread(authority.issue, "server")
    [port] = await asyncio.to_thread(free_ports, 1)
    files = f'cert_file: "{own.cert}", key_file: "{own.key}"'
    listener = f'websocket {{ host: "127.0.0.1", port: {port}, tls {{ {files} }} }}'
    async with NatsServer(options=default_options(extra=(listener,))) as server:
        address = f"wss://127.0.0.1:{port}"
        access = nats_access(server, addresses=(address,), tls=TlsAccess(authority.cert))
        async with account_source(access) as source:
            snapshot = await poll(source)
    assert (failures(snapshot), snapshot.complete) == ({}, True)


@asynccontextmanager
async def redirecting(authority: Authority, location: str) -> AsyncIterator[str]:
    """Host and port of an HTTPS server that redirects everything."""
    own = await asyncio.to_thread(authority.issue, "redirecting")

    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": location})

    app = web.Application()
    app.router.add_get("/{path:.*}", redirect)
    runner = web.AppRunner(app)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    await asyncio.to_thread(context.load_cert_chain, own.cert, own.key)
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@over_websocket
@pytest.mark.parametrize("scheme", ["ws", "wss"])
async def test_a_websocket_without_tls_gets_no_credentials(
    scheme: str, authority: Authority
) -> None:
    async with plain_websocket() as plain:
        url = f"{scheme}://app:{SECRET}@{plain.host}"
        why = await opened(NatsAccess((url,), tls=TlsAccess(authority.cert)))
    assert why.startswith(f"connection: {scheme}://{plain.host}: {NO_TLS}")
    assert (plain.connections, bytes(plain.received)) == (0, b"")


@over_websocket
async def test_a_websocket_that_is_redirected_out_of_tls_gets_no_credentials(
    authority: Authority,
) -> None:
    async with (
        plain_websocket() as plain,
        redirecting(authority, f"http://{plain.host}/") as host,
    ):
        access = NatsAccess((f"wss://{host}",), "app", SECRET, tls=TlsAccess(authority.cert))
        why = await opened(access)
    assert why == f"connection: wss://{host}: {NO_TLS}"
    assert (plain.connections, bytes(plain.received)) == (1, b"")


async def test_the_monitor_source_follows_no_redirect(authority: Authority) -> None:
    requested: list[str] = []

    async def varz(request: web.Request) -> web.Response:
        requested.append(request.headers.get("Authorization", ""))
        return web.json_response({"server_id": "EVIL", "server_name": "evil", "version": "2.15.1"})

    app = web.Application()
    app.router.add_get("/{path:.*}", varz)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    other = f"http://127.0.0.1:{runner.addresses[0][1]}/varz"
    try:
        async with redirecting(authority, other) as host:
            tls = TlsAccess(authority.cert)
            access = HttpAccess((f"https://{host}",), "app", SECRET, tls=tls)
            async with monitor_source(access) as source:
                snapshot = await poll(source)
    finally:
        await runner.cleanup()
    assert (requested, snapshot.servers) == ([], ())
    assert failures(snapshot) == {"varz": "http_status"}
    assert outcome(snapshot, "varz").detail == (
        f"https://{host}: varz: HTTP 302, redirects are not followed"
    )


async def test_the_monitor_source_sends_nothing_to_http_when_tls_is_configured() -> None:
    async with plain_server() as plain:
        access = HttpAccess((f"http://{plain.host}",), "app", SECRET, tls=TlsAccess())
        async with monitor_source(access) as source:
            snapshot = await poll(source)
    assert (plain.connections, failures(snapshot)) == (0, {"varz": "connection"})
    assert "TLS is required" in outcome(snapshot, "varz").detail
