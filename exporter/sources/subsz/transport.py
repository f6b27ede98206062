"""The two ways to ask one server for its subscriptions: as the system account, and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from msgspec import Raw

from exporter.errors import MalformedAnswerError, QuestionError
from exporter.sources.decoding.decode import read_answer
from exporter.sources.decoding.wire import WireJsz, WireJszAnswer, WireSystemError
from exporter.sources.request_context import Asking
from exporter.sources.servers.jsz_pages import Ask, JszQuestion, read_all_accounts
from exporter.sources.subsz.wire import (
    SubszQuestion,
    WireConnz,
    WireConnzAnswer,
    WireQueuesAnswer,
    WireSubsz,
    WireSubszAnswer,
)
from exporter.sources.transport.connection import NatsLink
from exporter.sources.transport.gzip_responses import unpacked

T = TypeVar("T")
# What the server with that id answers at a path with a query.
HttpGet = Callable[[str, str, Mapping[str, str]], Awaitable[bytes]]


class SubszTransport(Protocol):
    """Servers are named by their ids; every answer may fail with a QuestionError."""

    async def subscriptions(self, server: str, question: SubszQuestion) -> WireSubsz: ...

    async def streams(self, server: str) -> list[WireJsz]:
        """All streams there with their configuration, without consumers."""
        ...

    async def is_client(self, server: str, cid: int) -> bool:
        """Whether that connection is a client's; JetStream's own are in no list of connections."""
        ...

    async def queues(self, server: str) -> Collection[str]:
        """The server's internal queues in which something waits."""
        ...


class _SystemAnswer(Protocol[T]):
    data: T | None
    error: WireSystemError | None


@dataclass(frozen=True, slots=True)
class SubszOverNats:
    link: NatsLink
    asking: Asking
    max_answer_bytes: int
    accounts_per_page: int

    async def subscriptions(self, server: str, question: SubszQuestion) -> WireSubsz:
        return await self._ask(server, "SUBSZ", question.payload(), WireSubszAnswer)

    async def streams(self, server: str) -> list[WireJsz]:
        async def ask(question: JszQuestion) -> dict[str, WireJsz]:
            return {server: await self._ask(server, "JSZ", question.payload(), WireJszAnswer)}

        return await _pages(ask, server, self.accounts_per_page)

    async def is_client(self, server: str, cid: int) -> bool:
        answer = await self._ask(server, "CONNZ", b'{"cid":%d}' % cid, WireConnzAnswer)
        return answer.num_connections > 0

    async def queues(self, server: str) -> Collection[str]:
        return await self._ask(server, "IPQUEUESZ", b"{}", WireQueuesAnswer)

    async def _ask(self, server: str, what: str, payload: bytes, kind: type[_SystemAnswer[T]]) -> T:
        left = self.asking.left()
        replies = await self.link.gather(
            f"$SYS.REQ.SERVER.{server}.{what}",
            payload,
            enough=bool,
            quiet=left,
            timeout=left,
            headers={"Accept-Encoding": "gzip"},
        )

        def read() -> _SystemAnswer[T]:
            return read_answer(kind, unpacked(replies[0], self.max_answer_bytes), what.lower())

        answer = await asyncio.to_thread(read)
        if answer.error is not None:
            raise QuestionError("api_error", f"{what.lower()}: {answer.error.description}")
        if answer.data is None:
            raise MalformedAnswerError(f"{what.lower()}: neither data nor an error")
        return answer.data


@dataclass(frozen=True, slots=True)
class SubszOverHttp:
    get: HttpGet
    accounts_per_page: int

    async def subscriptions(self, server: str, question: SubszQuestion) -> WireSubsz:
        return await self._ask(server, "subsz", question.query(), WireSubsz)

    async def streams(self, server: str) -> list[WireJsz]:
        async def ask(question: JszQuestion) -> dict[str, WireJsz]:
            return {server: await self._ask(server, "jsz", question.query(), WireJsz)}

        return await _pages(ask, server, self.accounts_per_page)

    async def is_client(self, server: str, cid: int) -> bool:
        answer = await self._ask(server, "connz", {"cid": str(cid)}, WireConnz)
        return answer.num_connections > 0

    async def queues(self, server: str) -> Collection[str]:
        return await self._ask(server, "ipqueuesz", {}, dict[str, Raw])

    async def _ask(self, server: str, path: str, query: Mapping[str, str], kind: type[T]) -> T:
        body = await self.get(server, path, query)
        return await asyncio.to_thread(read_answer, kind, body, path)


async def _pages(ask: Ask, server: str, accounts_per_page: int) -> list[WireJsz]:
    pages = await read_all_accounts(ask, accounts_per_page, config=True, consumers=False)
    return pages[server]
