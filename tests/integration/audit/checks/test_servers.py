"""Checks of servers and accounts on real servers, with violations and without."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import nats
from support.audit.command import audit, lowered
from support.certificates import Authority, Certificate
from support.nats.clock_proxy import WrongClock, http_with_clock
from support.nats.servers import (
    NEWEST,
    OLDEST,
    SYS,
    Account,
    Login,
    NatsCluster,
    NatsOptions,
    NatsServer,
    Tls,
    User,
    connected,
    default_options,
)
from support.recordings.scenario import Api

MB = 1_000_000
BAD_SERVER = {
    "auth-off",
    "payload-large",
    "reservation-near-max",
    "reservation-wasted",
    "server-unnamed",
    "tls-expiring",
}
NEAR_LIMIT, BELOW_LIMIT = Login("near", "near"), Login("below", "below")
LIMITS = "jetstream { max_mem: 10MB, max_file: 100MB, max_streams: %d, max_consumers: %d }"


@asynccontextmanager
async def careless_server(authority: Authority, own: Certificate) -> AsyncIterator[NatsServer]:
    """No accounts, no name, a certificate of two days, a large max_payload, all storage reserved."""
    tls = Tls(cert=own.cert, key=own.key)
    options = NatsOptions(server_name="", tls=tls, max_payload="16MB", max_file="1000MB")
    async with NatsServer(NEWEST, options) as server:
        trusted = ssl.create_default_context(cafile=str(authority.cert))
        client = await nats.connect(server.url, tls=trusted)
        try:
            await Api(client).stream("ORDERS", subjects=["orders"], max_bytes=980 * MB)
        finally:
            await client.close()
        yield server


@asynccontextmanager
async def careful_server() -> AsyncIterator[NatsServer]:
    async with NatsServer(NEWEST, default_options(max_file="1000MB")) as server:
        async with connected(server) as client:
            await Api(client).stream("ORDERS", subjects=["orders"], max_bytes=500 * MB)
        yield server


def authority_in(folder: Path) -> tuple[Authority, Certificate]:
    made = Authority.create(folder)
    return made, made.issue("server")


async def test_findings_on_a_badly_configured_server_only(tmp_path: Path) -> None:
    certificates = await asyncio.to_thread(authority_in, tmp_path)
    async with careless_server(*certificates) as bad, careful_server() as good:
        with lowered({"reservation-wasted": {"LEAST_BYTES": 600 * MB}}):
            reported = await audit(bad, None, source="monitor")
            quiet = await audit(good, None, source="monitor")
    assert {code for code, _, _ in reported.found} >= BAD_SERVER
    assert not {code for code, _, _ in quiet.found} & BAD_SERVER
    assert reported.broken == quiet.broken == []
    (name,) = reported.about("server-unnamed")
    assert reported.evidence("auth-off", name) == "authentication not required, TLS required"
    assert reported.evidence("tls-expiring", name).startswith("the certificate expires in 1d")


async def test_only_a_server_version_with_a_known_bug_is_reported() -> None:
    async with NatsServer(OLDEST, default_options()) as old, NatsServer(NEWEST) as new:
        aged = await audit(old)
        fresh = await audit(new, None)
    assert aged.about("version-known-bad") == {"n1"}
    assert fresh.about("version-known-bad") == frozenset()


class OddCluster(NatsCluster):
    """Its last node has the oldest version and less than half of the others' storage limit."""

    def _new_nodes(self) -> list[NatsServer]:
        nodes = super()._new_nodes()
        odd = nodes[-1]
        odd._wanted_version = OLDEST
        odd.options = replace(odd.options, max_file="400MB")
        return nodes


async def test_only_the_different_server_of_a_cluster_is_reported() -> None:
    async with OddCluster(3, NEWEST, default_options(max_file="1000MB")) as cluster:
        run = await audit(cluster, SYS, source="system")
    assert run.about("version-mixed") == run.about("storage-limit-uneven") == {"n3"}
    assert run.evidence("version-mixed", "n3") == f"version {OLDEST}, most of its cluster {NEWEST}"


async def test_a_wrong_clock_is_found_and_a_right_one_is_not() -> None:
    async with NatsServer(NEWEST, default_options()) as server:
        async with http_with_clock(server.monitor_url, WrongClock(10)) as url:
            wrong = await audit(url, None, "--only", "clock", source="monitor")
        right = await audit(server, None, "--only", "clock", source="monitor")
    assert wrong.evidence("clock", "n1").startswith("+10.0")
    assert right.about("clock") == frozenset()


def limited(login: Login, streams: int, consumers: int) -> Account:
    limits = LIMITS % (streams, consumers)
    user = User(login.user, login.password)
    return Account(login.user.upper(), (user,), jetstream=False, extra=(limits,))


async def fill(server: NatsServer, login: Login) -> None:
    """Two streams with one consumer each; together they reserve 90 MB."""
    async with connected(server, login) as client:
        api = Api(client)
        for name in ("ONE", "TWO"):
            await api.stream(name, subjects=[name], max_bytes=45 * MB)
            await api.consumer(name, "worker")


async def test_only_accounts_near_their_limits_are_reported() -> None:
    accounts = (limited(NEAR_LIMIT, 2, 2), limited(BELOW_LIMIT, 3, 3), *default_options().accounts)
    async with NatsServer(NEWEST, default_options(accounts=accounts)) as server:
        await fill(server, NEAR_LIMIT)
        async with connected(server, BELOW_LIMIT) as client:
            await Api(client).stream("ONE", subjects=["one"], max_bytes=85 * MB)
        near_limit, below_limit = await audit(server, NEAR_LIMIT), await audit(server, BELOW_LIMIT)
        async with connected(server) as client:
            await Api(client).stream("ANY", subjects=["any"])
        whole = await audit(server, SYS, source="system")
    near = {"account-streams-near-limit", "account-consumers-near-limit", "account-overcommitted"}
    assert {code for code, name, _ in near_limit.found if name == "NEAR"} >= near
    assert not {code for code, _, _ in below_limit.found} & {*near, "account-unlimited"}
    assert whole.about("account-unlimited") >= {"APP"}
    assert not whole.about("account-unlimited") & {"NEAR", "BELOW"}


async def test_only_an_account_with_failing_requests_is_reported() -> None:
    async with (
        NatsServer(NEWEST, default_options()) as server,
        connected(server) as client,
        connected(server, Login("other", "other")) as other,
    ):
        over = asyncio.Event()
        requests = [
            asyncio.create_task(_keep_requesting(client, "STREAM.INFO.MISSING", over)),
            asyncio.create_task(_keep_requesting(other, "INFO", over)),
        ]
        try:
            with lowered({"api-errors": {"ENOUGH": 20}}):
                run = await audit(server, SYS, "--watch", "2s", source="system")
        finally:
            over.set()
            await asyncio.gather(*requests)
    assert run.about("api-errors") == {"APP"}


async def _keep_requesting(client: nats.NATS, subject: str, over: asyncio.Event) -> None:
    while not over.is_set():
        with contextlib.suppress(nats.errors.TimeoutError):
            await client.request(f"$JS.API.{subject}", b"")
        await asyncio.sleep(0.005)
