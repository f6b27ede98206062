"""Asks over the system account: one question to all servers, all accounts in the answers."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from exporter.errors import QuestionError
from exporter.model import Snapshot
from exporter.sources.asking import Asking, LeftOut
from exporter.sources.connection import NatsLink, Reply
from exporter.sources.decode import read_answer
from exporter.sources.fleet import ServerAnswers
from exporter.sources.gzipped import first_bytes, unpacked
from exporter.sources.servers_snapshot import ServersMemory, SourceOptions, build_snapshot
from exporter.sources.wire import (
    WireHealthAnswer,
    WireJsz,
    WireJszAnswer,
    WireServer,
    WireStatszAnswer,
)

PING = "$SYS.REQ.SERVER.PING"
# Servers answer a ping within milliseconds of each other; who has not spoken by then is away.
_QUIET_SECONDS = 1.0
# Once all known servers answered, newcomers get this long.
_LINGER_SECONDS = 0.05
_MOST_ACCOUNTS = 1024
_SERVER_ID = re.compile(rb'"id"\s*:\s*"([^"]+)"')

T = TypeVar("T")


@dataclass(slots=True)
class SystemSource:
    options: SourceOptions
    link: NatsLink
    memory: ServersMemory = field(init=False)
    left_out: LeftOut = field(default_factory=LeftOut)
    accounts_per_page: int = _MOST_ACCOUNTS
    _known_ids: frozenset[str] = frozenset()
    _link_generation: int = -1

    def __post_init__(self) -> None:
        self.memory = ServersMemory(self.options)

    async def poll(self, deadline: float) -> Snapshot:
        asking = Asking(deadline, self.left_out)
        answers: dict[str, ServerAnswers] = {}
        with asking.question("statsz"):
            await self.link.open()
            self._fresh_link()
            await self._ask_statsz(asking, answers)
        if not asking.answered("statsz"):
            return self.memory.empty_snapshot(asking)
        if self.memory.health_due(time.monotonic()) and not asking.rests("healthz"):
            with asking.question("healthz"):
                await self._ask_health(asking, answers)
                self.memory.health_read(time.monotonic())
        await self._ask_jsz(asking, answers)
        return await asyncio.to_thread(build_snapshot, self.memory, asking, list(answers.values()))

    async def close(self) -> None:
        await self.link.close()

    def _fresh_link(self) -> None:
        if self.link.reconnects != self._link_generation:
            # Permissions may have changed with the new connection.
            self._link_generation = self.link.reconnects
            self.left_out.clear()

    def _domain(self) -> str:
        if self.options.domain is not None:
            return self.options.domain
        return str(self.link.server_info.get("domain", ""))

    async def _ask_statsz(self, asking: Asking, answers: dict[str, ServerAnswers]) -> None:
        def enough(replies: list[Reply]) -> bool:
            return bool(self._known_ids) and self._known_ids <= _ids(replies)

        replies = await self.link.gather(
            PING + ".STATSZ", enough=enough, quiet=_QUIET_SECONDS, timeout=asking.left()
        )
        domain = self._domain()
        strangers = 0
        for reply in replies:
            answer = read_answer(WireStatszAnswer, reply.data, "statsz")
            server = answer.server
            if server.domain != domain:
                strangers += server.jetstream
                continue
            self.memory.clocks.observe(server.name, reply.sent, reply.round_trip, server.time)
            answers[server.id] = ServerAnswers(server, answer.statsz)
        self._known_ids = frozenset(_ids(replies))
        self.memory.strangers = strangers

    async def _ask_health(self, asking: Asking, answers: dict[str, ServerAnswers]) -> None:
        for reply in await self._from_all(asking, "HEALTHZ", b"", set(answers)):
            answer = read_answer(WireHealthAnswer, reply.data, "healthz")
            if answer.server.id in answers and answer.data is not None:
                self.memory.health[answer.server.name] = answer.data

    async def _ask_jsz(self, asking: Asking, answers: dict[str, ServerAnswers]) -> None:
        with_config = self.memory.config_due(time.monotonic()) and not asking.rests("jsz_config")
        js_servers = {key for key, answer in answers.items() if answer.server.jetstream}
        if not js_servers:
            with asking.question("jsz"):
                raise QuestionError("no_jetstream", "no server of this system runs JetStream")
            return
        if with_config:
            with asking.question("jsz_config"):
                await self._read_pages(asking, answers, js_servers, config=True)
                self.memory.config_read(time.monotonic())
        # The larger answer carries the smaller; only when it was refused is the smaller asked too.
        if not with_config or asking.refused("jsz_config"):
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
        for answer in answers.values():
            answer.jsz.clear()
        offset, more, silent = 0, True, set(servers)
        while more:
            limit = self.accounts_per_page
            payload = _jsz_request(offset, limit, config=config)
            try:
                replies = await self._from_all(asking, "JSZ", payload, servers, gzip=True)
            except QuestionError as error:
                raise await self._cut_off(error) from error
            pages = await asyncio.to_thread(_read_jsz, replies, self.options.max_answer_bytes)
            more = False
            for reply, (server, page) in zip(replies, pages, strict=True):
                if server.id not in answers:
                    continue
                self.memory.clocks.observe(server.name, reply.sent, reply.round_trip, server.time)
                answers[server.id].jsz.append(page)
                silent.discard(server.id)
                more |= page.total > offset + limit
            offset += limit
        if silent:
            names = ", ".join(sorted(answers[one].server.name for one in silent))
            raise QuestionError("timeout", f"no jsz from {names} within the deadline")

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
        if self.accounts_per_page > 1:
            self.accounts_per_page = max(1, self.accounts_per_page // 8)
        return QuestionError(
            "size",
            f"the server cut the connection while it sent jsz; next time {self.accounts_per_page} "
            "accounts at once",
        )

    async def _from_all(
        self, asking: Asking, what: str, payload: bytes, servers: set[str], *, gzip: bool = False
    ) -> list[Reply]:
        """Every server of `servers` once; who answers twice is heard once."""
        replies = await self.link.gather(
            f"{PING}.{what}",
            payload,
            enough=lambda got: servers <= _ids(got),
            quiet=asking.left(),
            timeout=asking.left(),
            headers={"Accept-Encoding": "gzip"} if gzip else None,
        )
        return list({_server_id(reply): reply for reply in reversed(replies)}.values())


def _jsz_request(offset: int, limit: int, *, config: bool) -> bytes:
    request = {
        "accounts": True,
        "streams": True,
        "consumer": True,
        "offset": offset,
        "limit": limit,
    }
    if config:
        request["config"] = True
    return msgspec.json.encode(request)


def _read_jsz(replies: list[Reply], max_bytes: int) -> list[tuple[WireServer, WireJsz]]:
    pages = []
    for reply in replies:
        answer = read_answer(WireJszAnswer, unpacked(reply, max_bytes), "jsz")
        if answer.error is not None:
            raise QuestionError("api_error", f"jsz: {answer.error.description}")
        pages.append((answer.server, answer.data or WireJsz()))
    return pages


def _server_id(reply: Reply) -> str:
    found = _SERVER_ID.search(first_bytes(reply))
    return found[1].decode() if found else ""


def _ids(replies: list[Reply]) -> set[str]:
    return {_server_id(reply) for reply in replies}
