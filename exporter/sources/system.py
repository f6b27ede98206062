"""Asks over the system account: one question to all servers, all accounts in the answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.errors import QuestionError
from exporter.model import Snapshot
from exporter.sources.clock_pings import ClockPing
from exporter.sources.decoding.decode import read_answer
from exporter.sources.decoding.server_decode import ServerAnswers
from exporter.sources.decoding.wire import (
    WireHealthAnswer,
    WireJsz,
    WireJszAnswer,
    WireServer,
    WireStatszAnswer,
)
from exporter.sources.request_context import Asking, LeftOut, smaller_page
from exporter.sources.servers.jsz_pages import JszQuestion, read_all_accounts
from exporter.sources.servers.server_settings import QUESTION as SETTINGS_QUESTION
from exporter.sources.servers.server_settings import SettingsBook, told_beside
from exporter.sources.servers.snapshot import (
    CONFIG_SHARE_OF_TIME,
    ServersMemory,
    SourceOptions,
    build_snapshot,
)
from exporter.sources.subsz.publish_counts import PublishReading
from exporter.sources.subsz.transport import SubszOverNats
from exporter.sources.transport.connection import NatsLink, Reply
from exporter.sources.transport.gzip_responses import unpacked
from exporter.sources.transport.responder import server_id, server_ids, server_names

PING = "$SYS.REQ.SERVER.PING"
# Servers answer a ping within milliseconds of each other; who has not spoken by then is away.
_QUIET_SECONDS = 1.0
# Once all known servers answered, newcomers get this long.
_LINGER_SECONDS = 0.05
_MOST_ACCOUNTS = 1024


@dataclass(slots=True)
class SystemSource:
    options: SourceOptions
    link: NatsLink
    memory: ServersMemory = field(init=False)
    left_out: LeftOut = field(default_factory=LeftOut)
    accounts_per_page: int = _MOST_ACCOUNTS
    settings: SettingsBook = field(init=False)
    _link_generation: int = -1

    def __post_init__(self) -> None:
        self.memory = ServersMemory(self.options)
        self.settings = SettingsBook(self.options.read_settings, self.options.health_interval)

    async def poll(self, deadline: float) -> Snapshot:
        asking = Asking(deadline, self.left_out)
        answers: dict[str, ServerAnswers] = {}
        with asking.question("statsz"):
            await self.link.open()
            self._fresh_link()
            if asking.rests("statsz"):
                raise QuestionError("permission", f"{PING}.STATSZ was denied: asked again later")
            await self._ask_statsz(asking, answers)
        if not asking.answered("statsz"):
            return self.memory.empty_snapshot(asking)
        # A server that has just started is asked whether it knows yet what it holds.
        newcomer = any(self.memory.startups.is_new(answer.server) for answer in answers.values())
        due = newcomer or self.memory.health_due(time.monotonic())
        if due and not asking.rests("healthz"):
            with asking.question("healthz"):
                await self._ask_health(asking, answers)
                self.memory.health_read(time.monotonic())
        settings = await self._ask_settings(answers, deadline)
        published = await self._count_publishes(answers, deadline)
        await self._ask_jsz(asking, answers)
        snapshot = await asyncio.to_thread(
            build_snapshot, self.memory, asking, list(answers.values())
        )
        return told_beside(published.added_to(snapshot), settings)

    async def close(self) -> None:
        await self.link.close()

    def _fresh_link(self) -> None:
        if self.link.reconnects != self._link_generation:
            # Permissions may have changed with the new connection.
            self._link_generation = self.link.reconnects
            self.left_out.clear()
            self.memory.publishes.left_out.clear()
            self.settings.left_out.clear()

    def _domain(self, spoken: Iterable[WireServer]) -> str:
        """That of the server we are connected to, or of the first that has JetStream."""
        if self.options.domain is not None:
            return self.options.domain
        info = self.link.server_info
        if info.get("jetstream"):
            return str(info.get("domain", ""))
        return next((server.domain for server in spoken if server.jetstream), "")

    async def _ask_statsz(self, asking: Asking, answers: dict[str, ServerAnswers]) -> None:
        # Who is missed is waited for, else its return could go unheard for ever.
        book = self.memory.servers
        known = book.names()
        roll_call = book.roll_call(time.monotonic(), self.options.health_interval)
        replies = await self.link.gather(
            PING + ".STATSZ",
            enough=lambda got: not roll_call and known <= server_names(got),
            quiet=_QUIET_SECONDS,
            linger=_LINGER_SECONDS,
            timeout=asking.left(),
        )
        told = [read_answer(WireStatszAnswer, reply.data, "statsz") for reply in replies]
        domain = self._domain(answer.server for answer in told)
        strangers = 0
        for reply, answer in zip(replies, told, strict=True):
            server = answer.server
            if server.jetstream and server.domain != domain:
                strangers += 1
                continue
            self.memory.clocks.observe(server.name, reply.sent, reply.round_trip, server.time)
            answers[server.id] = ServerAnswers(server, answer.statsz)
        self.memory.strangers = strangers
        names = frozenset(answer.server.name for answer in answers.values())
        ping = ClockPing(PING + ".STATSZ")
        await ping.repeat(self.link, names, self.memory.clocks, asking)

    async def _ask_health(self, asking: Asking, answers: dict[str, ServerAnswers]) -> None:
        for reply in await self._from_all(asking, "HEALTHZ", b"", set(answers)):
            answer = read_answer(WireHealthAnswer, reply.data, "healthz")
            if answer.server.id in answers and answer.data is not None:
                self.memory.health[answer.server.name] = answer.data

    async def _ask_settings(self, answers: dict[str, ServerAnswers], deadline: float) -> Asking:
        book, now = self.settings, time.monotonic()
        asking = book.asking(deadline)
        if book.due(answers.keys(), now) and not asking.rests(SETTINGS_QUESTION):
            book.ask(answers.keys(), now)
            with asking.question(SETTINGS_QUESTION):
                book.learn(await self._from_all(asking, "VARZ", b"", set(answers)))
        book.fill_in(answers.values())
        return asking

    async def _count_publishes(
        self, answers: dict[str, ServerAnswers], deadline: float
    ) -> PublishReading:
        servers = {key: one.server.name for key, one in answers.items() if one.server.jetstream}
        most, at_once = self.options.max_answer_bytes, self.accounts_per_page
        return await self.memory.publishes.read(
            lambda asking: SubszOverNats(self.link, asking, most, at_once),
            servers if self.memory.may_count_publishes else {},
            deadline,
        )

    async def _ask_jsz(self, asking: Asking, answers: dict[str, ServerAnswers]) -> None:
        with_config = self.memory.config_due(time.monotonic()) and not asking.rests("jsz_config")
        js_servers = {key for key, answer in answers.items() if answer.server.jetstream}
        if not js_servers:
            with asking.question("jsz"):
                raise QuestionError("no_jetstream", "no server of this system runs JetStream")
            return
        if with_config:
            larger = asking.within(CONFIG_SHARE_OF_TIME)
            with larger.question("jsz_config"):
                await self._read_pages(larger, answers, js_servers, config=True)
                self.memory.config_read(time.monotonic())
            if asking.timed_out("jsz_config"):
                self.memory.config_failed(time.monotonic())
        # The larger answer carries the smaller; only when it failed is the smaller asked too.
        if (not with_config or asking.refused("jsz_config")) and not asking.rests("jsz"):
            with asking.question("jsz"):
                await self._read_pages(asking, answers, js_servers, config=False)

    async def _read_pages(
        self,
        asking: Asking,
        answers: dict[str, ServerAnswers],
        servers: set[str],
        *,
        config: bool,
    ) -> None:
        while True:
            for answer in answers.values():
                answer.jsz.clear()
            try:
                return await self._read_accounts(asking, answers, servers, config=config)
            except QuestionError as error:
                self.accounts_per_page = smaller_page(self.accounts_per_page, error)

    async def _read_accounts(
        self,
        asking: Asking,
        answers: dict[str, ServerAnswers],
        servers: set[str],
        *,
        config: bool,
    ) -> None:
        async def ask(question: JszQuestion) -> dict[str, WireJsz]:
            return await self._ask_page(asking, servers, question)

        pages = await read_all_accounts(ask, self.accounts_per_page, config=config)
        for server, kept in pages.items():
            answers[server].jsz.extend(kept)
        if silent := servers - pages.keys():
            names = ", ".join(sorted(answers[one].server.name for one in silent))
            raise QuestionError("timeout", f"no jsz from {names} within the deadline")

    async def _ask_page(
        self, asking: Asking, servers: set[str], question: JszQuestion
    ) -> dict[str, WireJsz]:
        try:
            replies = await self._from_all(asking, "JSZ", question.payload(), servers, gzip=True)
        except QuestionError as error:
            raise await self._cut_off(error) from error
        found = {}
        pages = await asyncio.to_thread(_read_jsz, replies, self.options.max_answer_bytes)
        for reply, (server, page) in zip(replies, pages, strict=True):
            if server.id in servers:
                self.memory.clocks.observe(server.name, reply.sent, reply.round_trip, server.time)
                found[server.id] = page
        return found

    async def _cut_off(self, error: QuestionError) -> QuestionError:
        """A server that is alive but hung up on us found the answer too large (its max_pending)."""
        if error.reason != "disconnected":
            return error
        before = self.link.last_server_id
        try:
            await self.link.open()
        except QuestionError:
            return error
        if before != self.link.last_server_id:
            return error
        # Not a new connection in the sense of new permissions: what is left out stays left out.
        self._link_generation = self.link.reconnects
        return QuestionError(
            "size",
            "the server cut the connection while it sent jsz of "
            f"{self.accounts_per_page} accounts at once",
        )

    async def _from_all(
        self, asking: Asking, what: str, payload: bytes, servers: set[str], *, gzip: bool = False
    ) -> list[Reply]:
        """Every server of `servers` once; who answers twice is heard once."""
        replies = await self.link.gather(
            f"{PING}.{what}",
            payload,
            enough=lambda got: servers <= server_ids(got),
            quiet=asking.left(),
            timeout=asking.left(),
            headers={"Accept-Encoding": "gzip"} if gzip else None,
        )
        return list({server_id(reply): reply for reply in reversed(replies)}.values())


def _read_jsz(replies: list[Reply], max_bytes: int) -> list[tuple[WireServer, WireJsz]]:
    pages = []
    for reply in replies:
        answer = read_answer(WireJszAnswer, unpacked(reply, max_bytes), "jsz")
        if answer.error is not None:
            raise QuestionError("api_error", f"jsz: {answer.error.description}")
        pages.append((answer.server, answer.data or WireJsz()))
    return pages
