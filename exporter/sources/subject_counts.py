"""Counts the messages of named streams by subject. Their number and the size of responses are bounded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import nlargest

from exporter.model import Outcome, Skipped, Snapshot, Stream, SubjectCounts
from exporter.sources.fan_out import fan_out
from exporter.sources.jetstream_api.client import NOT_FOUND, AccountApi, ApiError
from exporter.sources.jetstream_api.subjects import has_wildcard, subject_info
from exporter.sources.request_context import RequestContext
from exporter.subscription_counts import StreamKey
from streamgauge.serving.rate_limit import RateLimitedLog

SUBJECT_COUNTS = "subject_counts"
_MAX_TEXT = 256  # of a label value: publishers choose the subjects
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CountedStream:
    name: str
    filter: str
    top: int


@dataclass(frozen=True, slots=True)
class SubjectOptions:
    streams: tuple[CountedStream, ...] = ()
    interval: float = 60.0  # seconds
    max_subjects: int = 10_000  # that a response may name


@dataclass(slots=True)
class SubjectCounter:
    """For streams of the connection's account. Between two rounds the last counts stay."""

    api: AccountApi
    options: SubjectOptions
    clock: Callable[[], float] = time.monotonic
    _counts: dict[StreamKey, SubjectCounts] = field(default_factory=dict)
    _next: float = float("-inf")
    _over_ceiling: bool = False
    _log: RateLimitedLog = field(default_factory=lambda: RateLimitedLog(logger))

    async def read(
        self, snapshot: Snapshot, account: str, context: RequestContext
    ) -> Mapping[StreamKey, SubjectCounts]:
        if not self.options.streams:
            return {}
        rows = {row.name: row for row in snapshot.streams if row.account == account and row.up}
        if self.clock() >= self._next and not context.is_skipped(SUBJECT_COUNTS):
            self._next = self.clock() + self.options.interval
            with context.request(SUBJECT_COUNTS):
                await self._round(rows, account, context)
        return {key: counts for key, counts in self._counts.items() if key[1] in rows}

    def outcomes(self, context: RequestContext) -> tuple[Outcome, ...]:
        return tuple(each for each in context.outcomes if each.request == SUBJECT_COUNTS)

    def skipped(self, context: RequestContext) -> tuple[Skipped, ...]:
        refused = context.skipped_requests.skipped(time.monotonic())
        ours = tuple(each for each in refused if each.request == SUBJECT_COUNTS)
        return (*ours, Skipped(SUBJECT_COUNTS, "ceiling")) if self._over_ceiling else ours

    async def _round(
        self, rows: Mapping[str, Stream], account: str, context: RequestContext
    ) -> None:
        self._counts, self._over_ceiling = {}, False
        chosen = [each for each in self.options.streams if self._can_be_counted(each, rows)]

        async def one(wanted: CountedStream) -> None:
            try:
                info = await subject_info(self.api, wanted.name, wanted.filter, context)
            except ApiError as error:
                if error.code != NOT_FOUND:
                    raise
                return
            self._counts[account, wanted.name] = _largest(info.counts, info.total, wanted.top)

        # One at a time: the server counts under the lock that publishers need.
        await fan_out(chosen, one, 1, context)

    def _can_be_counted(self, wanted: CountedStream, rows: Mapping[str, Stream]) -> bool:
        row = rows.get(wanted.name)
        if row is None:
            what = "subject_counts: no such stream now"
            self._log.log(wanted.name, logging.WARNING, what, stream=wanted.name)
            return False
        if has_wildcard(wanted.filter) and row.subjects > self.options.max_subjects:
            self._over_ceiling = True
            return False
        return True


def _largest(counts: Mapping[str, int], total: int, top: int) -> SubjectCounts:
    readable = ((n, subject) for subject, n in counts.items() if len(subject) <= _MAX_TEXT)
    found = tuple((subject, n) for n, subject in nlargest(top, readable))
    return SubjectCounts(found, max(total, len(counts)) - len(found))
