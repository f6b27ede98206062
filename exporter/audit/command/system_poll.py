"""Looks at one system for an audit: asks once, again for what only a second request tells."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from exporter.audit.check import Check
from exporter.audit.context import AuditContext, AuditSettings, History, MessageSample, is_judged
from exporter.audit.evaluation import judge
from exporter.audit.output.system_audit import Audited
from exporter.audit.registry import codes
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

# Without an answer to these, streams or consumers go unseen: an audit must not sound complete.
_STATE_REQUESTS = frozenset({"stream_list", "consumer_list", "statsz", "jsz", "jsz_config"})
_MOST_NAMES = 5  # of what does not answer, in one line
# Gaps that every look tells anew, beside the requests.
_KINDS = ("servers", "meta", "streams", "streams config", "consumers", "consumers config")
# The counters of the servers' subscriptions are read anew at each look.
_AT_ONCE = 0.0


class NoResponseError(Exception):
    """Nothing could be asked at all, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookOptions:
    checks: Sequence[Check]
    settings: AuditSettings
    timeout: float
    watch: float | None = None
    history: History | None = None
    sample_messages: bool = False


@dataclass(slots=True)
class SystemLook:
    system: SystemSettings
    options: LookOptions
    tell: Callable[[str], None]  # how far it is, for who waits
    _signals: SignalState = field(default_factory=SignalState)
    _publishes: PublishState = field(default_factory=PublishState)
    _gaps: dict[str, str] = field(default_factory=dict)

    async def audit(self) -> Audited:
        """Raises UnansweredError."""
        counters = replace(self.system.publishes, interval=_AT_ONCE)
        audit = replace(self.system.audit, enabled=True)
        source = make_source(replace(self.system, publishes=counters, audit=audit))
        try:
            scene = await self._look(source)
            messages = await self._messages(source, scene.snapshot)
        finally:
            await source.close()
        made = replace(
            scene,
            settings=self.options.settings,
            history=self.options.history,
            messages=messages,
        )
        return await asyncio.to_thread(self._judged, made)

    async def _look(self, source: Source) -> AuditContext:
        self.tell("asking")
        snapshot = await self._poll(source)
        if any(one.request == SUBSCRIPTIONS and not one.ok for one in snapshot.outcomes):
            # How subscriptions are best read may be known only after the first answers.
            snapshot = await self._poll(source)
        scene = await self._learnt(snapshot)
        if self.options.watch is None:
            return scene
        self.tell(f"looking again in {self.options.watch:g} s")
        await asyncio.sleep(self.options.watch)
        later = await self._learnt(await self._poll(source))
        return replace(later, earlier=scene, seconds=later.now - scene.now)

    async def _learnt(self, snapshot: Snapshot) -> AuditContext:
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
        """A request that failed stays one until it is answered: not every poll asks it."""
        for one in snapshot.outcomes:
            self._gaps.pop(one.request, None)
            if not one.ok and _matters(one, self.system.source):
                self._gaps[one.request] = f"{one.request} ({one.reason}): {one.detail}"
        for kind in _KINDS:
            self._gaps.pop(kind, None)
        self._gaps.update(_silent_servers(snapshot))
        self._gaps.update(_silent_assets(snapshot))

    async def _messages(
        self, source: Source, snapshot: Snapshot
    ) -> Mapping[tuple[str, str], MessageSample] | None:
        if not self.options.sample_messages or not isinstance(source, AccountSource):
            return None
        self.tell("reading the headers of the last messages")
        context = RequestContext(time.monotonic() + self.options.timeout, SkippedRequests())
        found, error = await MessageIds(source.assets.api).read(snapshot.streams, context)
        if error is not None:
            self._gaps["messages"] = f"sample of messages ({error.reason}): {error.detail}"
        return found if found or error is None else None

    def _judged(self, scene: AuditContext) -> Audited:
        snapshot = scene.snapshot
        return Audited(
            report=judge(scene, self.options.checks, codes()),
            checks=tuple(self.options.checks),
            source=self.system.source,
            streams=len(snapshot.streams),
            consumers=len(snapshot.consumers),
            gaps=tuple(self._gaps.values()),
        )


def _silent_servers(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    missing = (snapshot.servers_expected or 0) - (snapshot.servers_responding or 0)
    if missing > 0 and snapshot.servers:
        down = ", ".join(row.name for row in snapshot.servers if not row.up)
        yield "servers", f"{missing} of the servers" + (f": {down}" if down else "")
    if snapshot.meta is None or snapshot.meta.size is None:
        return
    # Who has been away since before the first request is known to the meta group only.
    size = snapshot.meta.size
    absent = size - sum(row.up and row.jetstream for row in snapshot.servers)
    if absent > max(missing, 0):
        yield "meta", f"{absent} of the {size} servers of the meta group"


def _silent_assets(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """What is listed and does not answer is judged by no check."""
    streams = [(row.name, row.up, row.config is not None) for row in snapshot.streams]
    consumers = [
        (f"{row.stream} > {row.name}", row.up, row.config is not None)
        for row in snapshot.consumers
        if row.config is None or is_judged(row.config)
    ]
    for noun, rows in (("stream", streams), ("consumer", consumers)):
        if down := [name for name, up, _ in rows if not up]:
            yield f"{noun}s", f"{_counted(down, noun, 'does', 'do')} not answer: {_listed(down)}"
        if mum := [name for name, up, told in rows if up and not told]:
            counted = _counted(mum, noun, "has", "have")
            yield f"{noun}s config", f"{counted} no known configuration: {_listed(mum)}"


def _counted(names: Sequence[str], noun: str, one: str, many: str) -> str:
    return f"1 {noun} {one}" if len(names) == 1 else f"{len(names):,} {noun}s {many}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(sorted(names)[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _matters(outcome: Outcome, source: str) -> bool:
    return outcome.request in _STATE_REQUESTS or (source, outcome.request) == ("monitor", "varz")


def _why(outcomes: Sequence[Outcome]) -> str:
    told = [f"{one.request} failed ({one.reason}): {one.detail}" for one in outcomes]
    return told[0] if told else "nothing was answered"
