"""Fetches the configuration of single accounts between two fetches of all configuration.

A new or recreated asset has none, and a limit may have changed since the last fetch: then messages
leave the stream for no reason that the known configuration explains.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from exporter.model import Skipped, Snapshot, Stream
from exporter.signals.stream_changes import (
    PollTimes,
    contradicts_limits,
    overwrites_by_design,
    removed_by_limits,
    removed_messages,
    was_recreated,
)
from exporter.sources.decoding.server_decode import ServerResponses
from exporter.sources.decoding.wire_servers import WireJsz
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.servers.interval_request import with_request_outcomes
from exporter.sources.servers.jsz_pages import JszRequest, RequestJsz
from exporter.sources.servers.snapshot import (
    CONFIG_SHARE_OF_TIME,
    ServersState,
    build_snapshot,
    read_rows,
)

REQUEST = "jsz_account"
MOST_ACCOUNTS = 5  # in one poll
# An account up to this size is fetched in every poll that needs it, a larger one not as often.
SMALL_ACCOUNT = 1000
INTERVAL_SECONDS = 20.0


@dataclass(slots=True)
class ConfigRefresh:
    skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    over_ceiling: bool = False  # an account that needs it was not fetched
    _streams: dict[tuple[str, str], Stream] = field(default_factory=dict)  # of the last poll
    _taken: float = 0.0
    _fetched: dict[str, float] = field(default_factory=dict)
    _in_vain: frozenset[str] = frozenset()  # fetched, and still without configuration

    async def snapshot(
        self,
        state: ServersState,
        responses: Mapping[str, ServerResponses],
        request: RequestJsz,
        context: RequestContext,
    ) -> Snapshot:
        """The snapshot of a poll, with current configuration. `request` asks all servers."""
        own = context.within(CONFIG_SHARE_OF_TIME)
        own = RequestContext(own.deadline, self.skipped_requests)
        everything = list(responses.values())
        rows = await asyncio.to_thread(read_rows, state, everything)
        unknown = set(state.configs.unknown)
        if not context.succeeded("jsz_config"):
            unknown |= self._unexplained(rows.streams(), state)
        consumers = rows.consumer_counts() if unknown else Counter[str]()
        accounts = self._due(unknown, consumers, state.options.config_ceiling)
        if accounts and not own.is_skipped(REQUEST):
            state.configs.unknown.clear()
            with own.request(REQUEST):
                await _fetch(accounts, responses, request, own)
            rows = await asyncio.to_thread(read_rows, state, everything)
            self._in_vain = frozenset(state.configs.unknown)
        made = await asyncio.to_thread(build_snapshot, state, context, everything, rows)
        self._streams = {(row.account, row.name): row for row in made.streams if row.up}
        self._taken = made.taken
        made = with_request_outcomes(made, own)
        return _with_skipped(made) if self.over_ceiling else made

    def _due(self, unknown: Iterable[str], consumers: Counter[str], ceiling: int) -> list[str]:
        now = time.monotonic()
        self._fetched = {
            name: at for name, at in self._fetched.items() if now - at < INTERVAL_SECONDS
        }
        wanted = sorted(unknown, key=lambda name: (consumers[name], name))
        due = [
            name
            for name in wanted
            if consumers[name] <= ceiling
            and (
                name not in self._fetched
                or (consumers[name] <= SMALL_ACCOUNT and name not in self._in_vain)
            )
        ][:MOST_ACCOUNTS]
        self._fetched |= dict.fromkeys(due, now)
        self.over_ceiling = len(due) < len(wanted)
        return due

    def _unexplained(self, streams: Iterable[Stream], state: ServersState) -> set[str]:
        """Accounts with a stream that holds or lost more messages than its configuration explains."""
        now = time.time()
        return {
            row.account
            for row in streams
            if row.config is not None
            and row.up
            and (contradicts_limits(row) or self._lost_more(row, state, now))
        }

    def _lost_more(self, row: Stream, state: ServersState, now: float) -> bool:
        before = self._streams.get((row.account, row.name))
        if before is None or before.last_seq - before.messages == row.last_seq - row.messages:
            return False
        if was_recreated(before.created, row.created) or row.last_seq < before.last_seq:
            return False
        config = row.config
        if config is None or config.retention != "limits" or overwrites_by_design(config):
            return False
        clock = state.clocks.estimate(row.leader, now)
        offset = clock.offset_seconds if clock else 0.0
        polls = PollTimes(self._taken + offset, now + offset)
        return removed_messages(before, row) > removed_by_limits(before, row, polls)


async def _fetch(
    accounts: Iterable[str],
    responses: Mapping[str, ServerResponses],
    request: RequestJsz,
    context: RequestContext,
) -> None:
    ids = {
        detail.name: detail.id or detail.name
        for response in responses.values()
        for detail in response.account_details()
    }
    for name in accounts:
        context.check_deadline(REQUEST)
        for server, page in (await request(JszRequest(config=True, account=ids[name]))).items():
            if server in responses:
                _replace(responses[server], page)


def _replace(response: ServerResponses, newer: WireJsz) -> None:
    """Puts the account's rows in the place of the older ones."""
    details = {detail.name: detail for detail in newer.account_details or ()}
    for page in response.jsz:
        page.account_details = [
            details.get(detail.name, detail) for detail in page.account_details or ()
        ]


def _with_skipped(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, skipped=(*snapshot.skipped, Skipped(REQUEST, "ceiling")))
