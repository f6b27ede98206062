"""Reads what JetStream's own subscriptions received: publishes, acks and pulls, in bulk.

The server walks all subscriptions of an account while its publishers wait. So the reader first
requests their number, which costs nothing, and skips an account above a ceiling.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from exporter.errors import RequestError
from exporter.model import Skipped
from exporter.sources.request_context import RETRY_AFTER_SECONDS
from exporter.sources.subsz.counts import account_id, counts_of
from exporter.sources.subsz.rows import LedStream, ServerRows, led_streams
from exporter.sources.subsz.transport import SubszTransport
from exporter.sources.subsz.wire import SubszRequest
from exporter.subscription_counts import StreamKey, SubscriptionCounts
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)

REQUEST = "subsz"
QUEUES_REQUEST = "ipqueuesz"
# At 2.8 us each, the worst measured, publishers wait 20 ms.
CEILING = 7_000
# A message that left the queues may still wait for a quorum, at worst in another data centre. The
# request for last_seq must come after that.
SETTLE_SECONDS = 0.25
_MOST_LOOKUPS = 16  # CONNZ requests per server and poll


@dataclass(frozen=True, slots=True)
class OverCeiling:
    server: str
    account: str
    subscriptions: int


@dataclass(frozen=True, slots=True)
class SubszResult:
    counts: SubscriptionCounts
    over_ceiling: tuple[OverCeiling, ...] = ()
    error: RequestError | None = None  # of the servers that could not be read
    queues_denied: bool = False

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        found = (Skipped(REQUEST, "ceiling"),) if self.over_ceiling else ()
        return (*found, Skipped(QUEUES_REQUEST, "permission")) if self.queues_denied else found


@dataclass(slots=True)
class SubszReader:
    """Remembers the owners of connections: a server never reuses a connection number."""

    system: str
    ceiling: int = CEILING
    settle: float = SETTLE_SECONDS
    _owners: dict[tuple[str, StreamKey], int] = field(default_factory=dict)
    _clients: set[tuple[str, int]] = field(default_factory=set)
    _queues_retry_at: dict[str, float] = field(default_factory=dict)  # by server id, until when
    _queues_denied: set[str] = field(default_factory=set)  # ids of servers
    _log: StateLog = field(default_factory=lambda: StateLog(logger))
    _logged: set[tuple[str, str]] = field(default_factory=set)

    async def read(self, request: SubszTransport, servers: Mapping[str, str]) -> SubszResult:
        """`servers`: those with JetStream, id -> name."""
        results = await asyncio.gather(
            *(self._read_server(request, *server) for server in servers.items())
        )
        read = [rows for rows, _, _ in results if rows is not None]
        over = tuple(one for _, over, _ in results for one in over)
        self._remember(read)
        self._log_over_ceiling(over)
        await asyncio.sleep(self.settle)
        complete = all(error is None for _, _, error in results)
        counts = await asyncio.to_thread(counts_of, read, complete=complete)
        failed = _joined([error for _, _, error in results if error])
        return SubszResult(counts, over, failed, bool(self._queues_denied))

    async def _read_server(
        self, request: SubszTransport, server_id: str, name: str
    ) -> tuple[ServerRows | None, list[OverCeiling], RequestError | None]:
        over: list[OverCeiling] = []
        rows = None
        try:
            total = (await request.subscriptions(server_id, SubszRequest())).num_subscriptions
            pages = await request.streams(server_id)
            accounts = [detail for page in pages for detail in page.account_details or ()]
            rows = ServerRows(name, server_id, led_streams(name, accounts), accounts)
            await self._read_rows(request, rows, total, over)
            rows.queues = await self._queues(request, server_id)
            await self._find_owners(request, rows)
        except RequestError as error:
            return rows, over, RequestError(error.reason, f"{name}: {error.detail}")
        return rows, over, None

    async def _read_rows(
        self, request: SubszTransport, rows: ServerRows, total: int, over: list[OverCeiling]
    ) -> None:
        if total <= self.ceiling:
            # Few enough in all accounts together: one request is cheaper than one for each.
            return await _take(request, rows, "")
        for account in rows.accounts:
            key = account_id(account)
            response = await request.subscriptions(rows.server_id, SubszRequest(key))
            if response.num_subscriptions <= self.ceiling:
                await _take(request, rows, key)
            elif account.stream_detail:
                over.append(OverCeiling(rows.server, account.name, response.num_subscriptions))
        return None

    async def _queues(self, request: SubszTransport, server_id: str) -> Collection[str] | None:
        """Optional: it makes the counts of busy streams available sooner."""
        if time.monotonic() < self._queues_retry_at.get(server_id, 0.0):
            return None
        self._queues_denied.discard(server_id)
        try:
            return await request.queues(server_id)
        except RequestError as error:  # before 2.10.26 not over NATS
            if error.reason == "permission":
                self._queues_denied.add(server_id)
            self._queues_retry_at[server_id] = time.monotonic() + RETRY_AFTER_SECONDS
            return None

    async def _find_owners(self, request: SubszTransport, rows: ServerRows) -> None:
        await asyncio.to_thread(rows.index)
        unsure = {}
        for stream in rows.led:
            found = self._candidates(rows, stream)
            if len(found) == 1:
                rows.owners[stream.key] = found.pop()
            elif found:
                unsure[stream.key] = found
        await self._check_candidates(request, rows, unsure)

    async def _check_candidates(
        self, request: SubszTransport, rows: ServerRows, unsure: Mapping[StreamKey, set[int]]
    ) -> None:
        """Excludes client connections; what stays ambiguous waits for the next poll."""
        lookups = _MOST_LOOKUPS
        for key, found in unsure.items():
            for cid in sorted(found):
                if len(found) == 1 or lookups == 0:
                    break
                lookups -= 1
                if await request.is_client(rows.server_id, cid):
                    self._clients.add((rows.server_id, cid))
                    found.discard(cid)
            if len(found) == 1:
                rows.owners[key] = found.pop()

    def _candidates(self, rows: ServerRows, stream: LedStream) -> set[int]:
        found = rows.candidates(stream)
        known = self._owners.get((rows.server_id, stream.key))
        if known in found:
            return {known}
        return {cid for cid in found if (rows.server_id, cid) not in self._clients}

    def _remember(self, read: Sequence[ServerRows]) -> None:
        self._owners = {
            (rows.server_id, key): cid for rows in read for key, cid in rows.owners.items()
        }
        present = {(rows.server_id, cid) for rows in read for cid in rows.connections()}
        self._clients &= present
        lives = {rows.server_id for rows in read}
        self._queues_denied &= lives
        self._queues_retry_at = {
            life: until for life, until in self._queues_retry_at.items() if life in lives
        }

    def _log_over_ceiling(self, over: Sequence[OverCeiling]) -> None:
        """Logs once when an account exceeds the ceiling, and once when it no longer does."""
        now = {(one.server, one.account): one for one in over}
        for key, one in now.items():
            self._log.report(
                key, True, logging.WARNING, "too many subscriptions, publishes not counted",
                system=self.system, server=one.server, account=one.account,
                subscriptions=one.subscriptions, ceiling=self.ceiling,
            )  # fmt: skip
        for server, account in self._logged - now.keys():
            self._log.forget((server, account))
            event(logger, logging.INFO, "publishes counted again", system=self.system,
                  server=server, account=account)  # fmt: skip
        self._logged = set(now)


async def _take(request: SubszTransport, rows: ServerRows, account: str) -> None:
    response = await request.subscriptions(rows.server_id, SubszRequest(account, rows=True))
    rows.lists[account] = response.subscriptions_list or []


def _joined(errors: Sequence[RequestError]) -> RequestError | None:
    if not errors:
        return None
    return RequestError(errors[0].reason, "; ".join(error.detail for error in errors))
