"""Asks the HTTP monitoring ports; needs the address of every server, and no NATS account."""

from __future__ import annotations

import asyncio
import ssl
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import aiohttp
from yarl import URL

from exporter.errors import QuestionError
from exporter.model import Snapshot
from exporter.sources.clock_pings import more_turns
from exporter.sources.decoding.decode import read_answer
from exporter.sources.decoding.server_decode import ServerAnswers
from exporter.sources.decoding.wire import WireHealth, WireJsz, WireServer, WireVarz
from exporter.sources.request_context import Asking, LeftOut, smaller_page
from exporter.sources.servers.combined_outcome import Tally
from exporter.sources.servers.jsz_pages import JszQuestion, read_all_accounts
from exporter.sources.servers.server_settings import server_settings
from exporter.sources.servers.snapshot import (
    CONFIG_SHARE_OF_TIME,
    ServersMemory,
    SourceOptions,
    build_snapshot,
)
from exporter.sources.subsz.publish_counts import PublishReading
from exporter.sources.subsz.transport import SubszOverHttp
from exporter.sources.transport.credentials import TlsAccess, without_secrets
from streamgauge.serving.settings.loader import SettingsError, read_secret

_ACCOUNTS_PER_PAGE = 1024
_READ_BYTES = 1024 * 1024
_HEALTH_STATUSES = frozenset({200, 500, 503})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpAccess:
    addresses: tuple[str, ...] = field(repr=False)  # one may hold a password
    user: str = ""
    password: str = field(default="", repr=False)
    password_file: Path | None = None
    tls: TlsAccess | None = None

    def headers(self) -> dict[str, str]:
        """Reads the password file, so it runs in a thread."""
        user, password = self.user, self.password
        if self.password_file is not None:
            password = read_secret(self.password_file)
        if not user:
            named = next((url for url in map(URL, self.addresses) if url.user), URL())
            user, password = named.user or "", named.password or ""
        return {"Authorization": _basic(user, password)} if user else {}


@dataclass(slots=True)
class _Plan:
    """What this poll asks besides the state."""

    config: bool
    health: bool
    asking: Asking
    tally: Tally


@dataclass(slots=True)
class MonitorSource:
    options: SourceOptions
    access: HttpAccess
    accounts_per_page: int = _ACCOUNTS_PER_PAGE
    memory: ServersMemory = field(init=False)
    left_out: LeftOut = field(default_factory=LeftOut)
    _session: aiohttp.ClientSession | None = None
    _was_refused: bool = False  # by its password or certificate, which may have been renewed
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.memory = ServersMemory(self.options)

    async def poll(self, deadline: float) -> Snapshot:
        asking = Asking(deadline, self.left_out)
        if self._was_refused:
            self._was_refused = False
            await self.close()
        now = time.monotonic()
        config = self.memory.config_due(now) and not asking.rests("jsz_config")
        plan = _Plan(config, self.memory.health_due(now), asking, Tally())
        met = await asyncio.gather(
            *(self._meet(address, plan) for address in self.access.addresses)
        )
        # The same server may stand behind two addresses: it counts once.
        found = {answer.server.id: (address, answer) for address, answer in filter(None, met)}
        answers = {key: answer for key, (_, answer) in found.items()}
        published = await self._count_publishes(found, deadline)
        await asyncio.gather(*(self._read_streams(*one, plan) for one in found.values()))
        if answers and not any(answer.server.jetstream for answer in answers.values()):
            plan.tally.failed("jsz", QuestionError("no_jetstream", "no server runs JetStream"))
        plan.tally.tell(asking)
        if not answers:
            return self.memory.empty_snapshot(asking)
        if plan.config and asking.answered("jsz_config"):
            self.memory.config_read(now)
        elif plan.config:
            self.memory.config_failed(now)
        if plan.health:
            self.memory.health_read(now)
        same_domain = self._one_domain(answers)
        snapshot = await asyncio.to_thread(build_snapshot, self.memory, asking, same_domain)
        return published.added_to(snapshot)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _one_domain(self, answers: Mapping[str, ServerAnswers]) -> list[ServerAnswers]:
        spoken = list(answers.values())
        domain = self.options.domain
        with_jetstream = [answer.server for answer in spoken if answer.server.jetstream]
        if domain is None:
            domain = with_jetstream[0].domain if with_jetstream else ""
        kept = [
            answer
            for answer in spoken
            if answer.server.domain == domain or not answer.server.jetstream
        ]
        self.memory.strangers = len(spoken) - len(kept)
        return kept

    async def _meet(self, address: str, plan: _Plan) -> tuple[str, ServerAnswers] | None:
        answer: ServerAnswers | None = None
        with plan.tally.question("varz", without_secrets(address)):
            answer = await self._ask_varz(address, plan.asking)
        if answer is None:
            return None
        # A server that has just started is asked whether it knows yet what it holds.
        if plan.health or self.memory.startups.is_new(answer.server):
            with plan.tally.question("healthz", answer.server.name):
                body, _ = await self._get(address, "healthz", {}, plan.asking, _HEALTH_STATUSES)
                self.memory.health[answer.server.name] = read_answer(WireHealth, body, "healthz")
        return address, answer

    async def _count_publishes(
        self, found: Mapping[str, tuple[str, ServerAnswers]], deadline: float
    ) -> PublishReading:
        servers = {key: one.server.name for key, (_, one) in found.items() if one.server.jetstream}

        def transport(asking: Asking) -> SubszOverHttp:
            async def get(server: str, path: str, query: Mapping[str, str]) -> bytes:
                body, _ = await self._get(found[server][0], path, query, asking)
                return body

            return SubszOverHttp(get, self.accounts_per_page)

        known = servers if self.memory.may_count_publishes else {}
        return await self.memory.publishes.read(transport, known, deadline)

    async def _read_streams(self, address: str, answer: ServerAnswers, plan: _Plan) -> None:
        if not answer.server.jetstream:
            return
        asking, name = plan.asking, answer.server.name
        if plan.config:
            larger = asking.within(CONFIG_SHARE_OF_TIME)
            with plan.tally.question("jsz_config", name):
                await self._read_pages(address, answer, larger, config=True)
        # The larger answer carries the smaller; only when it failed is the smaller asked too.
        if not answer.jsz and not asking.rests("jsz"):
            with plan.tally.question("jsz", name):
                await self._read_pages(address, answer, asking, config=False)

    async def _ask_varz(self, address: str, asking: Asking) -> ServerAnswers:
        varz, sent, round_trip = await self._timed_varz(address, asking)
        js = varz.jetstream
        server = WireServer(
            name=varz.server_name or varz.server_id,
            id=varz.server_id,
            host=str(URL(address).host or ""),
            ver=varz.version,
            cluster=varz.cluster.name if varz.cluster else "",
            domain=js.config.domain if js and js.config else "",
            # Asked before it had a config, a server leaves it out for the rest of its life.
            jetstream=bool(js and (js.config or js.stats)),
            time=varz.now,
        )
        self.memory.clocks.observe(server.name, sent, round_trip, varz.now)
        await self._sample_clock(address, server.name, asking)
        return ServerAnswers(server, varz, settings=server_settings(varz))

    async def _timed_varz(self, address: str, asking: Asking) -> tuple[WireVarz, float, float]:
        """With the time at which it was asked, and how long the answer took."""
        sent, started = time.time(), time.perf_counter()
        body, _ = await self._get(address, "varz", {}, asking)
        round_trip = time.perf_counter() - started
        return read_answer(WireVarz, body, "varz"), sent, round_trip

    async def _sample_clock(self, address: str, name: str, asking: Asking) -> None:
        try:
            for seconds in more_turns(asking):
                async with asyncio.timeout(seconds):
                    varz, sent, round_trip = await self._timed_varz(address, asking)
                self.memory.clocks.observe(name, sent, round_trip, varz.now)
        except (QuestionError, TimeoutError):
            # The first answer is in; if the server is gone, the next question will say so.
            return

    async def _read_pages(
        self, address: str, answer: ServerAnswers, asking: Asking, *, config: bool
    ) -> None:
        while True:
            answer.jsz.clear()
            limit = self.accounts_per_page
            try:
                return await self._read_accounts(address, answer, asking, limit, config=config)
            except QuestionError as error:
                # Another server's answer may have made the pages smaller meanwhile.
                self.accounts_per_page = min(self.accounts_per_page, smaller_page(limit, error))

    async def _read_accounts(
        self, address: str, answer: ServerAnswers, asking: Asking, limit: int, *, config: bool
    ) -> None:
        key = answer.server.id

        async def ask(question: JszQuestion) -> dict[str, WireJsz]:
            body, _ = await self._get(address, "jsz", question.query(), asking)
            return {key: await asyncio.to_thread(read_answer, WireJsz, body, "jsz")}

        pages = await read_all_accounts(ask, limit, config=config)
        answer.jsz.extend(pages[key])
        _fill_in_config(answer)

    async def _get(
        self,
        address: str,
        path: str,
        query: Mapping[str, str],
        asking: Asking,
        statuses: frozenset[int] = frozenset({200}),
    ) -> tuple[bytes, int]:
        url = URL(address) / path
        try:
            session = await self._open()
            timeout = aiohttp.ClientTimeout(total=asking.left())
            async with session.get(url.with_user(None), params=query, timeout=timeout) as response:
                body = await self._read_bounded(response, path)
                status = response.status
        except TimeoutError as error:
            raise QuestionError("timeout", f"{path}: no answer in time") from error
        except (aiohttp.ClientError, OSError, ssl.SSLError, SettingsError) as error:
            self._was_refused |= isinstance(error, ssl.SSLError | aiohttp.ClientSSLError)
            raise QuestionError("connection", f"{path}: {error}") from error
        if status in (401, 403):
            self._was_refused = True
            raise QuestionError("permission", f"{path}: HTTP {status}")
        if status not in statuses:
            raise QuestionError("http_status", f"{path}: HTTP {status}")
        return body, status

    async def _read_bounded(self, response: aiohttp.ClientResponse, path: str) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_chunked(_READ_BYTES):
            body += chunk
            if len(body) > self.options.max_answer_bytes:
                most = self.options.max_answer_bytes
                raise QuestionError("size", f"{path}: more than {most} bytes")
        return bytes(body)

    async def _open(self) -> aiohttp.ClientSession:
        # The first questions go to all servers at once: only one of them makes the session.
        async with self._opening:
            if self._session is None:
                tls = self.access.tls
                context = await asyncio.to_thread(tls.context) if tls else None
                # limit_per_host: never more than one question at a time to a server.
                connector = aiohttp.TCPConnector(limit_per_host=1, ssl=context or True)
                headers = await asyncio.to_thread(self.access.headers)
                self._session = aiohttp.ClientSession(connector=connector, headers=headers)
            return self._session


def _fill_in_config(answer: ServerAnswers) -> None:
    js, said = answer.jetstream, answer.jsz[0].config
    if js is not None and js.config is None and said is not None:
        js.config, answer.server.domain = said, said.domain


def _basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")
