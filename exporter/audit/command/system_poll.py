"""Polls one system for an audit, twice if needed, and evaluates the checks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from exporter.audit.check import Check
from exporter.audit.context import AuditContext, AuditSettings, History, MessageSample, is_audited
from exporter.audit.evaluation import evaluate
from exporter.audit.output.system_audit import AuditedSystem
from exporter.audit.registry import codes
from exporter.audit.units import listed, plural
from exporter.model import Outcome, Snapshot
from exporter.polling.pipeline import PollExtras, update_signals
from exporter.polling.wiring import make_source
from exporter.settings.config import SystemSettings
from exporter.signals.engine import SignalState
from exporter.signals.publishes.engine import PublishState
from exporter.sources.account import AccountSource
from exporter.sources.jetstream_api.message_ids import MessageIds
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.source import Source
from exporter.sources.subsz.reader import REQUEST as SUBSCRIPTIONS

# If one of these fails, streams or consumers are missing and the audit is incomplete.
_STATE_REQUESTS = frozenset({"stream_list", "consumer_list", "statsz", "jsz", "jsz_config"})
_MAX_NAMES = 5  # of assets that do not respond, in one line
# Gaps that each poll determines again, beside failed requests.
_KINDS = ("servers", "meta", "streams", "streams config", "consumers", "consumers config")
# Fetch the counters of the servers' subscriptions in each poll.
_EVERY_POLL = 0.0


class NoResponseError(Exception):
    """No request succeeded; the message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    checks: Sequence[Check]
    settings: AuditSettings
    timeout: float
    watch: float | None = None
    history: History | None = None
    sample_messages: bool = False
    details: bool = False  # of what the servers' own defaults give


@dataclass(slots=True)
class SystemAudit:
    system: SystemSettings
    options: AuditOptions
    progress: Callable[[str], None]
    _signals: SignalState = field(default_factory=SignalState)
    _publishes: PublishState = field(default_factory=PublishState)
    _gaps: dict[str, str] = field(default_factory=dict)

    async def audit(self) -> AuditedSystem:
        """Raises NoResponseError."""
        counters = replace(self.system.publishes, interval=_EVERY_POLL)
        audit = replace(self.system.audit, enabled=True)
        source = make_source(replace(self.system, publishes=counters, audit=audit))
        try:
            context = await self._poll_context(source)
            messages = await self._messages(source, context.snapshot)
        finally:
            await source.close()
        complete = replace(
            context,
            settings=self.options.settings,
            history=self.options.history,
            messages=messages,
        )
        return await asyncio.to_thread(self._evaluated, complete)

    async def _poll_context(self, source: Source) -> AuditContext:
        self.progress("polling")
        snapshot = await self._poll(source)
        if any(one.request == SUBSCRIPTIONS and not one.ok for one in snapshot.outcomes):
            # The source may know how to fetch subscriptions only after the first responses.
            snapshot = await self._poll(source)
        context = await self._context(snapshot)
        if self.options.watch is None:
            return context
        self.progress(f"polling again in {self.options.watch:g} s")
        await asyncio.sleep(self.options.watch)
        later = await self._context(await self._poll(source))
        return replace(later, earlier=context, seconds=later.now - context.now)

    async def _context(self, snapshot: Snapshot) -> AuditContext:
        return await asyncio.to_thread(
            update_signals, self._signals, self._publishes, snapshot, PollExtras()
        )

    async def _poll(self, source: Source) -> Snapshot:
        snapshot = await source.poll(time.monotonic() + self.options.timeout)
        if not any(outcome.ok for outcome in snapshot.outcomes):
            raise NoResponseError(_why(snapshot.outcomes))
        self._note_gaps(snapshot)
        return snapshot

    def _note_gaps(self, snapshot: Snapshot) -> None:
        """A failed request stays a gap until it succeeds: not every poll repeats it."""
        for one in snapshot.outcomes:
            self._gaps.pop(one.request, None)
            if not one.ok and _matters(one, self.system.source):
                self._gaps[one.request] = f"{one.request} ({one.reason}): {one.detail}"
        for kind in _KINDS:
            self._gaps.pop(kind, None)
        self._gaps.update(_missing_servers(snapshot))
        self._gaps.update(_missing_assets(snapshot))

    async def _messages(
        self, source: Source, snapshot: Snapshot
    ) -> Mapping[tuple[str, str], MessageSample] | None:
        if not self.options.sample_messages or not isinstance(source, AccountSource):
            return None
        self.progress("reading the headers of the last messages")
        request = RequestContext(time.monotonic() + self.options.timeout, SkippedRequests())
        found, error = await MessageIds(source.assets.api).read(snapshot.streams, request)
        if error is not None:
            self._gaps["messages"] = f"sample of messages ({error.reason}): {error.detail}"
        return found if found or error is None else None

    def _evaluated(self, context: AuditContext) -> AuditedSystem:
        snapshot = context.snapshot
        return AuditedSystem(
            report=evaluate(context, self.options.checks, codes()),
            checks=tuple(self.options.checks),
            source=self.system.source,
            streams=len(snapshot.streams),
            consumers=len(snapshot.consumers),
            gaps=tuple(self._gaps.values()),
            details=self.options.details,
        )


def _missing_servers(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    missing = (snapshot.servers_expected or 0) - (snapshot.servers_responding or 0)
    if missing > 0 and snapshot.servers:
        down = ", ".join(row.name for row in snapshot.servers if not row.up)
        yield (
            "servers",
            f"{plural(missing, 'server')} did not respond" + (f": {down}" if down else ""),
        )
    if snapshot.meta is None or snapshot.meta.size is None:
        return
    # Only the meta group knows servers that were down before the first request.
    size = snapshot.meta.size
    absent = size - sum(row.up and row.jetstream for row in snapshot.servers)
    if absent > max(missing, 0):
        yield "meta", f"{absent} of {size} servers of the meta group did not respond"


def _missing_assets(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Listed assets that do not respond are not evaluated."""
    streams = [(row.name, row.up, row.config is not None) for row in snapshot.streams]
    consumers = [
        (f"{row.stream} > {row.name}", row.up, row.config is not None)
        for row in snapshot.consumers
        if row.config is None or is_audited(row.config)
    ]
    for noun, rows in (("stream", streams), ("consumer", consumers)):
        if down := [name for name, up, _ in rows if not up]:
            yield f"{noun}s", f"{plural(len(down), noun)} did not respond: {_listed(down)}"
        if unknown := [name for name, up, configured in rows if up and not configured]:
            counted = plural(len(unknown), noun)
            yield f"{noun}s config", f"{counted} without known configuration: {_listed(unknown)}"


def _listed(names: Sequence[str]) -> str:
    return listed(sorted(names), _MAX_NAMES)


def _matters(outcome: Outcome, source: str) -> bool:
    return outcome.request in _STATE_REQUESTS or (source, outcome.request) == ("monitor", "varz")


def _why(outcomes: Sequence[Outcome]) -> str:
    failures = [f"{one.request} failed ({one.reason}): {one.detail}" for one in outcomes]
    return failures[0] if failures else "no request succeeded"
