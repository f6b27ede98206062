"""Every way to present oneself to a NATS server, through the account source."""

import asyncio
import time
from pathlib import Path
from typing import Any, Final

import nkeys  # type: ignore[import-untyped]
import pytest
from support.certificates import Authority
from support.exporter.source_polls import (
    OPTIONS,
    account_source,
    create_stream,
    failures,
    nats_access,
    outcome,
    poll,
    system_source,
)
from support.nats.jwt_accounts import JwtAccount, Key, operator_lines
from support.nats.servers import (
    APP,
    NEWEST,
    Account,
    Login,
    NatsOptions,
    NatsServer,
    Tls,
    User,
    connected,
    default_options,
    versions,
)
from support.waiting import until

from exporter.model import Snapshot
from exporter.sources.servers.snapshot import SourceOptions
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess, TlsAccess

NO_LOGIN: Final = Login("", "")
TOKEN: Final = "open-sesame"

each_version = pytest.mark.parametrize("version", versions())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


def write(file: Path, text: str) -> Path:
    file.write_text(text + "\n")
    return file


async def read(access: NatsAccess, options: SourceOptions = OPTIONS) -> Snapshot:
    async with account_source(access, options) as source:
        return await poll(source)


def names(snapshot: Snapshot) -> list[str]:
    """The account's name, as a proof that we came in and as whom."""
    assert (failures(snapshot), snapshot.complete) == ({}, True)
    return [account.name for account in snapshot.accounts]


@each_version
@pytest.mark.parametrize("where", ["setting", "file", "address"])
async def test_a_password_from_a_setting_a_file_or_the_address(
    version: str, where: str, tmp_path: Path
) -> None:
    secret = "p:ss/w@rd"
    account = Account("APP", (User("app", secret),))
    async with NatsServer(version, NatsOptions(accounts=(account,))) as server:
        ways: dict[str, dict[str, Any]] = {
            "setting": {"user": "app", "password": secret},
            "file": {
                "user": "app",
                "password_file": await asyncio.to_thread(write, tmp_path / "password", secret),
            },
            "address": {"addresses": (server.url.replace("//", "//app:p%3Ass%2Fw%40rd@"),)},
        }
        assert names(await read(nats_access(server, NO_LOGIN, **ways[where]))) == ["APP"]


@each_version
@pytest.mark.parametrize("where", ["setting", "file", "address"])
async def test_a_token_from_a_setting_a_file_or_the_address(
    version: str, where: str, tmp_path: Path
) -> None:
    async with NatsServer(version, NatsOptions(token=TOKEN)) as server:
        ways: dict[str, dict[str, Any]] = {
            "setting": {"token": TOKEN},
            "file": {"token_file": await asyncio.to_thread(write, tmp_path / "token", TOKEN)},
            "address": {"addresses": (server.url.replace("//", f"//{TOKEN}@"),)},
        }
        assert names(await read(nats_access(server, NO_LOGIN, **ways[where]))) == ["$G"]


@each_version
async def test_an_nkey_seed_from_a_file(version: str, tmp_path: Path) -> None:
    key = Key(nkeys.PREFIX_BYTE_USER)
    seed = await asyncio.to_thread(write, tmp_path / "seed", key.seed.decode())
    account = Account("APP", (User(nkey=key.public),))
    async with NatsServer(version, NatsOptions(accounts=(account,))) as server:
        assert names(await read(nats_access(server, NO_LOGIN, nkey_seed_file=seed))) == ["APP"]


@each_version
async def test_a_creds_file_and_an_account_with_a_name_beside_its_key(
    version: str, tmp_path: Path
) -> None:
    billing, system = JwtAccount("billing"), JwtAccount("system", jetstream=False)
    as_user = await asyncio.to_thread(billing.write_creds, tmp_path / "user.creds")
    as_system = await asyncio.to_thread(system.write_creds, tmp_path / "system.creds")
    async with NatsServer(version, NatsOptions(extra=operator_lines(system, billing))) as server:
        user = nats_access(server, NO_LOGIN, creds_file=as_user)
        connection = NatsConnection(user, "test")
        await connection.request(
            "$JS.API.STREAM.CREATE.ORDERS", b'{"name":"ORDERS","storage":"memory"}', timeout=10
        )
        await connection.close()
        through_account = await read(user)
        named = await read(user, SourceOptions(system="test", account="billing"))
        async with system_source(nats_access(server, NO_LOGIN, creds_file=as_system)) as source:
            through_system = await poll(source)
    # Servers before 2.11 do not report that name to an ordinary user: it needs a setting.
    logged = version not in ("2.9.10", "2.10.26")
    assert names(through_account) == (["billing"] if logged else [billing.key.public])
    for snapshot in (named, through_system, *([through_account] if logged else [])):
        assert [(row.account, row.name) for row in snapshot.streams] == [("billing", "ORDERS")]


async def test_a_creds_file_that_is_replaced_is_read_again(tmp_path: Path) -> None:
    billing, system = JwtAccount("billing"), JwtAccount("system", jetstream=False)
    stranger = JwtAccount("stranger")
    creds = await asyncio.to_thread(stranger.write_creds, tmp_path / "user.creds")
    async with (
        NatsServer(options=NatsOptions(extra=operator_lines(system, billing))) as server,
        account_source(nats_access(server, NO_LOGIN, creds_file=creds)) as source,
    ):
        refused = await poll(source)
        await asyncio.to_thread(billing.write_creds, creds)
        accepted = await poll(source)
    assert failures(refused) == {"stream_list": "connection"}
    assert names(accepted) == ["billing"]


async def test_a_missing_secret_file_is_named_and_ends_nothing(tmp_path: Path) -> None:
    absent = tmp_path / "absent.creds"
    async with NatsServer(options=default_options()) as server:
        snapshot = await read(nats_access(server, creds_file=absent))
    assert failures(snapshot) == {"stream_list": "connection"}
    assert str(absent) in outcome(snapshot, "stream_list").detail


@each_version
async def test_credentials_that_expire_are_replaced_without_a_restart(
    version: str, tmp_path: Path
) -> None:
    billing, system = JwtAccount("billing"), JwtAccount("system", jetstream=False)
    creds = tmp_path / "user.creds"
    async with NatsServer(version, NatsOptions(extra=operator_lines(system, billing))) as server:
        await asyncio.to_thread(billing.write_creds, creds, expires=time.time() + 3)
        async with account_source(nats_access(server, NO_LOGIN, creds_file=creds)) as source:

            async def polled() -> Snapshot:
                return await poll(source, 5.0)

            first = await polled()
            expired = await until(polled, lambda seen: bool(failures(seen)), "it never expired")
            await asyncio.to_thread(billing.write_creds, creds)
            again = await polled()
    assert failures(first) == {}
    assert set(failures(expired).values()) <= {"connection", "disconnected"}
    assert (failures(again), again.complete) == ({}, True)


@each_version
async def test_tls_with_an_authority_of_ones_own(version: str, authority: Authority) -> None:
    own = await asyncio.to_thread(authority.issue, "server")
    options = default_options(tls=Tls(own.cert, own.key))
    async with NatsServer(version, options) as server:
        trusting = await read(nats_access(server, tls=TlsAccess(authority.cert)))
        distrusting = await read(nats_access(server))
    assert names(trusting) == ["APP"]
    assert failures(distrusting) == {"stream_list": "connection"}
    assert "certificate verify failed" in outcome(distrusting, "stream_list").detail.lower()


@each_version
async def test_mutual_tls(version: str, authority: Authority) -> None:
    own = await asyncio.to_thread(authority.issue, "server")
    ours = await asyncio.to_thread(authority.issue, "client")
    options = default_options(tls=Tls(own.cert, own.key, ca=authority.cert, verify=True))
    async with NatsServer(version, options) as server:
        known = TlsAccess(authority.cert, ours.cert, ours.key)
        introduced = await read(nats_access(server, tls=known))
        unknown = await read(nats_access(server, tls=TlsAccess(authority.cert)))
    assert names(introduced) == ["APP"]
    assert failures(unknown) == {"stream_list": "connection"}


async def test_tls_before_the_first_word_of_the_server(authority: Authority) -> None:
    own = await asyncio.to_thread(authority.issue, "server")
    options = default_options(tls=Tls(own.cert, own.key, handshake_first=True))
    async with NatsServer(NEWEST, options) as server:
        first = await read(nats_access(server, tls=TlsAccess(authority.cert, first=True)))
        late = await read(nats_access(server, tls=TlsAccess(authority.cert)))
    assert names(first) == ["APP"]
    assert failures(late) == {"stream_list": "connection"}


async def test_a_certificate_for_another_name_needs_that_name(authority: Authority) -> None:
    own = await asyncio.to_thread(authority.issue, "server", "DNS:nats.example")
    options = default_options(tls=Tls(own.cert, own.key))
    async with NatsServer(options=options) as server:
        tls = TlsAccess(authority.cert, server_name="nats.example")
        named = await read(nats_access(server, tls=tls))
        unnamed = await read(nats_access(server, tls=TlsAccess(authority.cert)))
    assert names(named) == ["APP"]
    assert failures(unnamed) == {"stream_list": "connection"}


async def test_the_first_address_that_responds_is_used() -> None:
    async with (
        NatsServer(options=default_options()) as gone,
        NatsServer(options=default_options()) as server,
    ):
        async with connected(server) as client:
            await create_stream(client, "ORDERS")
        await gone.stop()
        access = nats_access(server, APP, addresses=(gone.url, server.url))
        snapshot = await read(access)
    assert [row.name for row in snapshot.streams] == ["ORDERS"]
