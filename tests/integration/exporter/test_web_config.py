"""A real server that obeys a web configuration file: TLS, client certificates, passwords."""

from __future__ import annotations

import asyncio
import base64
import logging
import shutil
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

import aiohttp
import bcrypt
import pytest
from aiohttp import web
from support.certificates import Authority, Certificate

from archive.http.auth import Access, BearerTokens
from streamgauge.serving.web.live_config import LiveWebConfig

HASH = bcrypt.hashpw(b"hunter2", bcrypt.gensalt(4)).decode()
OTHER_HASH = bcrypt.hashpw(b"swordfish", bcrypt.gensalt(4)).decode()
ALICE = f"basic_auth_users:\n  alice: {HASH}\n"
MUTUAL = "client_auth_type: RequireAndVerifyClientCert\nclient_ca_file: authority.pem\n"
REFUSED = (aiohttp.ClientError, ConnectionError, ssl.SSLError)


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with a server's certificate and what clients need to reach it."""

    folder: Path
    authority: Authority

    def live(self, text: str, check_every: float = 1.0) -> LiveWebConfig:
        self.write(text)
        return LiveWebConfig(self.folder / "web.yml", check_every=check_every)

    def write(self, text: str) -> None:
        (self.folder / "web.yml").write_text(text)

    def serve_with(self, certificate: Certificate) -> None:
        shutil.copy(certificate.cert, self.folder / "served.pem")
        shutil.copy(certificate.key, self.folder / "served.key")

    def client(self, certificate: Certificate | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority.cert)
        if certificate:
            context.load_cert_chain(certificate.cert, certificate.key)
        return context


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, Authority.create(tmp_path))
    place.serve_with(place.authority.issue("first"))
    return place


def tls(more: str = "") -> str:
    lines = "cert_file: served.pem\nkey_file: served.key\n" + more
    return "tls_server_config:\n" + indent(lines, "  ")


async def hello(_request: web.Request) -> web.Response:
    return web.Response(text="hello")


async def drip(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"drop")
    return response


@asynccontextmanager
async def serving(live: LiveWebConfig) -> AsyncIterator[int]:
    app = web.Application()
    app.add_routes([web.get("/", hello), web.get("/drip", drip)])
    live.protect(app)
    async with running(app, live.ssl_context()) as port:
        yield port


@asynccontextmanager
async def running(app: web.Application, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def basic(login: tuple[str, str]) -> str:
    return "Basic " + base64.b64encode(":".join(login).encode()).decode()


async def status(
    port: int, client: ssl.SSLContext | None = None, login: tuple[str, str] | None = None
) -> int:
    response = await get(port, client=client, login=login)
    return response.status


async def get(
    port: int,
    path: str = "/",
    *,
    client: ssl.SSLContext | None = None,
    login: tuple[str, str] | None = None,
) -> aiohttp.ClientResponse:
    scheme = "https" if client else "http"
    headers = {"Authorization": basic(login)} if login else {}
    async with aiohttp.ClientSession(headers=headers) as session:
        url = f"{scheme}://127.0.0.1:{port}{path}"
        async with session.get(url, ssl=client or True) as response:
            await response.read()
            return response


async def name_served(port: int, client: ssl.SSLContext) -> str:
    """The common name in the certificate that a new connection gets."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
    peer = writer.get_extra_info("peercert")
    writer.close()
    await writer.wait_closed()
    return str(dict(part[0] for part in peer["subject"])["commonName"])


async def test_the_certificate_of_the_file_is_served(place: Place) -> None:
    live = await asyncio.to_thread(place.live, tls())
    client = await asyncio.to_thread(place.client)

    async with serving(live) as port:
        assert await status(port, client) == 200
        assert await name_served(port, client) == "first"
        with pytest.raises(REFUSED):
            await status(port)


@pytest.fixture
def known(place: Place) -> ssl.SSLContext:
    return place.client(place.authority.issue("known", "DNS:prometheus.example"))


@pytest.fixture
def foreign(place: Place) -> ssl.SSLContext:
    other = Authority.create(place.folder / "other")
    return place.client(other.issue("known", "DNS:prometheus.example"))


@pytest.fixture
def nameless(place: Place) -> ssl.SSLContext:
    return place.client()


async def test_with_mutual_tls_only_known_clients_are_served(
    place: Place, known: ssl.SSLContext, foreign: ssl.SSLContext, nameless: ssl.SSLContext
) -> None:
    live = await asyncio.to_thread(place.live, tls(MUTUAL))

    async with serving(live) as port:
        assert await status(port, known) == 200
        for refused in (nameless, foreign):
            with pytest.raises(REFUSED):
                await status(port, refused)


async def test_an_optional_client_certificate_is_still_verified(
    place: Place, known: ssl.SSLContext, foreign: ssl.SSLContext, nameless: ssl.SSLContext
) -> None:
    policy = MUTUAL.replace("RequireAndVerifyClientCert", "VerifyClientCertIfGiven")
    live = await asyncio.to_thread(place.live, tls(policy))

    async with serving(live) as port:
        assert await status(port, nameless) == 200
        assert await status(port, known) == 200
        with pytest.raises(REFUSED):
            await status(port, foreign)


@pytest.mark.parametrize("newest", ["TLS12", "TLS13"])
async def test_only_clients_with_an_allowed_name_are_served(
    place: Place, known: ssl.SSLContext, caplog: pytest.LogCaptureFixture, newest: str
) -> None:
    policy = MUTUAL + f"max_version: {newest}\nclient_allowed_sans: [prometheus.example]\n"
    live = await asyncio.to_thread(place.live, tls(policy))
    stranger = await asyncio.to_thread(place.authority.issue, "s", "DNS:evil.example,IP:127.0.0.1")
    strangers = await asyncio.to_thread(place.client, stranger)

    async with serving(live) as port:
        assert await status(port, known) == 200
        with pytest.raises(REFUSED):
            await status(port, strangers)

    # With TLS 1.3 the client learns of it after its request, and may try once more.
    counts = {(each.message, vars(each)["fields"]["names"]) for each in caplog.records}
    assert counts == {("client certificate rejected", "127.0.0.1, evil.example")}


async def test_basic_authentication_lets_only_the_right_password_in(place: Place) -> None:
    live = await asyncio.to_thread(place.live, ALICE)

    async with serving(live) as port:
        response = await get(port)
        assert response.status == 401
        assert response.headers["WWW-Authenticate"] == 'Basic realm="streamgauge", charset="UTF-8"'
        assert await status(port, login=("alice", "wrong")) == 401
        assert await status(port, login=("mallory", "hunter2")) == 401
        assert await status(port, login=("alice", "hunter2")) == 200


async def test_a_second_request_does_not_run_bcrypt_again(place: Place) -> None:
    live = await asyncio.to_thread(place.live, ALICE)

    async with serving(live) as port:
        assert await status(port, login=("alice", "hunter2")) == 200
        assert live.passwords.bcrypt_runs == 1
        assert await status(port, login=("alice", "hunter2")) == 200
        assert live.passwords.bcrypt_runs == 1
        assert await status(port, login=("alice", "wrong")) == 401
        assert live.passwords.bcrypt_runs == 2


# Slow enough that guesses queue.
SLOW_ALICE = (
    f"basic_auth_users:\n  alice: {bcrypt.hashpw(b'hunter2', bcrypt.gensalt(10)).decode()}\n"
)


async def flood_and_scrape(port: int, meanwhile: Callable[[], None]) -> tuple[set[int], int]:
    """The answers to 300 guesses, and that to the right password while they wait."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", connector=connector) as session:

        async def guessed(number: int) -> int:
            headers = {"Authorization": basic(("alice", f"guess {number}"))}
            async with session.get("/", headers=headers) as response:
                return response.status

        guesses = [asyncio.create_task(guessed(number)) for number in range(300)]
        await asyncio.wait(guesses, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.to_thread(meanwhile)
        right = await status(port, login=("alice", "hunter2"))
        return set(await asyncio.gather(*guesses)), right


async def test_a_scraper_that_was_seen_passes_while_others_guess(place: Place) -> None:
    live = await asyncio.to_thread(place.live, SLOW_ALICE)

    async with serving(live) as port:
        assert await status(port, login=("alice", "hunter2")) == 200
        runs = live.passwords.bcrypt_runs
        answers, right = await flood_and_scrape(port, live.reload)
        assert (answers, right) == ({401, 429}, 200)
        assert live.passwords.bcrypt_runs < runs + 300


@pytest.mark.filterwarnings("ignore::aiohttp.web_exceptions.NotAppKeyWarning")
async def test_the_archive_asks_its_senders_to_repeat(place: Place) -> None:
    """On 429 a Prometheus drops its samples for good."""
    live = await asyncio.to_thread(place.live, SLOW_ALICE)
    app = web.Application()
    app.add_routes([web.get("/", hello)])
    Access(live, BearerTokens({})).protect(app)
    async with running(app) as port:
        answers, _ = await flood_and_scrape(port, lambda: None)
        assert answers == {401, 503}


async def test_unknown_paths_need_a_login_too(place: Place) -> None:
    live = await asyncio.to_thread(place.live, ALICE)

    async with serving(live) as port:
        assert (await get(port, "/none")).status == 401
        assert (await get(port, "/none", login=("alice", "hunter2"))).status == 404


async def test_a_certificate_and_a_password_can_both_be_required(
    place: Place, known: ssl.SSLContext, nameless: ssl.SSLContext
) -> None:
    live = await asyncio.to_thread(place.live, tls(MUTUAL) + ALICE)

    async with serving(live) as port:
        assert await status(port, known, ("alice", "hunter2")) == 200
        assert await status(port, known) == 401
        with pytest.raises(REFUSED):
            await status(port, nameless, ("alice", "hunter2"))


async def test_headers_come_with_every_kind_of_response(place: Place) -> None:
    headers = "http_server_config:\n  headers:\n    X-Frame-Options: deny\n"
    live = await asyncio.to_thread(place.live, headers + ALICE)
    login = ("alice", "hunter2")

    async with serving(live) as port:
        responses = [
            await get(port, login=login),
            await get(port, "/drip", login=login),
            await get(port, "/none", login=login),
            await get(port),
        ]

    assert [each.status for each in responses] == [200, 200, 404, 401]
    assert [each.headers.get("X-Frame-Options") for each in responses] == ["deny"] * 4


async def test_a_replaced_certificate_is_served_to_the_next_connection(place: Place) -> None:
    live = await asyncio.to_thread(place.live, tls())
    client = await asyncio.to_thread(place.client)
    second = await asyncio.to_thread(place.authority.issue, "second")

    async with serving(live) as port:
        assert await name_served(port, client) == "first"
        await asyncio.to_thread(place.serve_with, second)
        # The watch of the server may have been faster; then there is nothing left to do here.
        await asyncio.to_thread(live.reload_if_changed)
        assert await name_served(port, client) == "second"


async def test_the_server_finds_a_replaced_certificate_by_itself(place: Place) -> None:
    live = await asyncio.to_thread(place.live, tls(), 0.01)
    client = await asyncio.to_thread(place.client)
    second = await asyncio.to_thread(place.authority.issue, "second")

    async with serving(live) as port:
        await asyncio.to_thread(place.serve_with, second)
        while await name_served(port, client) != "second":
            pass  # each turn is a whole connection; the time limit of the suite ends a failure


async def test_a_connection_outlives_the_change_of_the_certificate(place: Place) -> None:
    live = await asyncio.to_thread(place.live, tls())
    client = await asyncio.to_thread(place.client)
    second = await asyncio.to_thread(place.authority.issue, "second")

    async with serving(live) as port, aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{port}/"
        for _ in range(2):
            async with session.get(url, ssl=client) as response:
                assert await response.text() == "hello"
            await asyncio.to_thread(place.serve_with, second)
            await asyncio.to_thread(live.reload_if_changed)


async def test_an_invalid_certificate_keeps_the_old_one_and_is_logged_once(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    live = await asyncio.to_thread(place.live, tls(), 3600.0)
    client = await asyncio.to_thread(place.client)
    second = await asyncio.to_thread(place.authority.issue, "second")

    async with serving(live) as port:
        await asyncio.to_thread(shutil.copy, second.cert, place.folder / "served.pem")
        assert await asyncio.to_thread(live.reload_if_changed) is False
        assert await asyncio.to_thread(live.reload_if_changed) is False
        assert await name_served(port, client) == "first"
        await asyncio.to_thread(shutil.copy, second.key, place.folder / "served.key")
        assert await asyncio.to_thread(live.reload_if_changed) is True
        assert await asyncio.to_thread(live.reload_if_changed) is False
        assert await name_served(port, client) == "second"

    counts = [(each.levelname, each.message) for each in caplog.records]
    assert counts == [
        ("ERROR", "web configuration not reloaded, the old one stays"),
        ("INFO", "web configuration reloaded"),
    ]


async def test_a_changed_file_changes_passwords_and_client_policy(
    place: Place, known: ssl.SSLContext, nameless: ssl.SSLContext
) -> None:
    live = await asyncio.to_thread(place.live, tls() + ALICE)

    async with serving(live) as port:
        assert await status(port, nameless, ("alice", "hunter2")) == 200
        changed = tls(MUTUAL) + ALICE.replace(HASH, OTHER_HASH)
        await asyncio.to_thread(place.write, changed)
        await asyncio.to_thread(live.reload)

        assert await status(port, known, ("alice", "hunter2")) == 401
        assert await status(port, known, ("alice", "swordfish")) == 200
        with pytest.raises(REFUSED):
            await status(port, nameless, ("alice", "swordfish"))


async def test_the_watch_ends_with_the_server(place: Place) -> None:
    live = await asyncio.to_thread(place.live, ALICE)

    async with serving(live):
        names = {task.get_name() for task in asyncio.all_tasks()}
        assert "watch the web configuration" in names

    names = {task.get_name() for task in asyncio.all_tasks()}
    assert "watch the web configuration" not in names
