"""Publish accounting: when the servers' subscriptions are requested, and the result of a poll."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from exporter.errors import RequestError
from exporter.model import Skipped, Snapshot
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.subsz.reader import CEILING, REQUEST, SubszReader, SubszResult
from exporter.sources.subsz.transport import SubszTransport
from exporter.subscription_counts import SubscriptionCounts

# Share of the remaining time of a poll: streams and consumers matter more.
_SHARE_OF_TIME = 1 / 3


@dataclass(frozen=True, slots=True)
class PublishOptions:
    enabled: bool = True
    interval: float = 60.0  # seconds
    ceiling: int = CEILING

    @property
    def at_every_poll(self) -> bool:
        """Even at the first poll, when the necessary page size is not known yet."""
        return self.interval <= 0


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The result of this poll; its failure does not make the snapshot incomplete."""

    context: RequestContext
    counts: SubscriptionCounts | None = None
    skipped: tuple[Skipped, ...] = ()

    def added_to(self, snapshot: Snapshot) -> Snapshot:
        skipped = self.context.skipped_requests.skipped(time.monotonic())
        return replace(
            snapshot,
            subscriptions=self.counts,
            outcomes=(*snapshot.outcomes, *self.context.outcomes),
            skipped=(*snapshot.skipped, *skipped, *self.skipped),
        )


@dataclass(slots=True)
class PublishCounting:
    """The publish counts of one system; between two requests it only repeats what is skipped."""

    system: str
    options: PublishOptions = PublishOptions()
    skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    _reader: SubszReader = field(init=False)
    _read: float = float("-inf")
    _skipped: tuple[Skipped, ...] = ()

    def __post_init__(self) -> None:
        self._reader = SubszReader(self.system, self.options.ceiling)

    async def read(
        self,
        transport: Callable[[RequestContext], SubszTransport],
        servers: Mapping[str, str],
        deadline: float,
    ) -> PublishResult:
        """`servers`: those with JetStream, id -> name. Call it before the streams are requested:
        what is received and stored in between is then known to be stored.
        """
        now = time.monotonic()
        context = RequestContext(now + (deadline - now) * _SHARE_OF_TIME, self.skipped_requests)
        due = self.options.enabled and now - self._read >= self.options.interval
        if not due or not servers or context.is_skipped(REQUEST):
            return PublishResult(context, None, self._skipped)
        self._read = now
        counts = None
        with context.request(REQUEST):
            result = await self._read_in_time(transport(context), servers, context)
            counts, self._skipped = result.counts, result.skipped
            if result.error is not None:
                raise result.error
        return PublishResult(context, counts, self._skipped)

    async def _read_in_time(
        self, request: SubszTransport, servers: Mapping[str, str], context: RequestContext
    ) -> SubszResult:
        """A limit for all requests together: each may be fast, and all of them too slow."""
        try:
            async with asyncio.timeout(context.left()):
                return await self._reader.read(request, servers)
        except TimeoutError as error:
            raise RequestError(
                "timeout", "not all accounts were read before the deadline"
            ) from error
