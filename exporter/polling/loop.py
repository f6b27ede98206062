"""The loop: when a system is polled, with what deadline, and what is kept when an answer fails."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace

from msgspec.structs import replace

from exporter.audit.log import AuditLog
from exporter.audit.periodic_audit import AuditState
from exporter.events.session import EventSession
from exporter.model import Snapshot
from exporter.polling.log import PollLog
from exporter.polling.per_consumer_requests import PerConsumerRequests
from exporter.polling.pipeline import Digest, Found
from exporter.polling.state import STALE_AFTER_INTERVALS, SystemState
from exporter.samples.render import Rendered, Renderer
from exporter.signals.publishes.engine import PublishState
from exporter.sources.source import Source

logger = logging.getLogger(__name__)

# Systems and replicas started together must not ask in step for ever.
JITTER = 0.05
# Polls that take longer than the interval must not follow each other without a break.
LEAST_REST = 0.1
# A source honours its deadline by itself; this only catches one that does not.
_GRACE_SECONDS = 5.0
# Of the time that the source left: what is heard and looked up closely comes after the state.
_SHARE_OF_EXTRAS = 0.5


class PollOverrunError(Exception):
    """A source that did not come back: a mistake of ours, not of NATS."""


@dataclass(slots=True)
class SystemPoller:
    system: str
    source_name: str
    targets: tuple[str, ...]
    source: Source = field(repr=False)  # it holds passwords
    renderer: Renderer = field(repr=False)
    interval: float
    timeout: float
    grace: float = _GRACE_SECONDS
    clock: Callable[[], float] = time.time
    event_session: EventSession | None = field(default=None, repr=False)
    per_consumer_requests: PerConsumerRequests | None = field(default=None, repr=False)
    publish_interval: float = 60.0  # seconds between two readings of what was published
    audit: AuditState | None = field(default=None, repr=False)
    state: SystemState = field(init=False, repr=False)
    _digest: Digest = field(init=False, repr=False)
    _log: PollLog = field(init=False, repr=False)
    _audit_log: AuditLog = field(init=False, repr=False)
    _silence: Renderer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.state = SystemState(STALE_AFTER_INTERVALS * self.interval)
        self._log = PollLog(self.system, self.interval)
        self._audit_log = AuditLog(self.system)
        # One of its own: an empty page must not make the renderer forget what it keeps.
        renderer = self.renderer
        forget_after = STALE_AFTER_INTERVALS * self.publish_interval
        self._digest = Digest(renderer, publishes=PublishState(forget_after), audit=self.audit)
        self._silence = Renderer(renderer.system, renderer.selection, renderer.limits)

    async def run(self) -> None:
        """Polls and listens until cancelled; one poll ends before the next begins."""
        try:
            async with asyncio.TaskGroup() as group:
                if self.event_session is not None:
                    group.create_task(self.event_session.run(), name=f"listen {self.system}")
                await self._poll_on()
        finally:
            await self.close()

    async def close(self) -> None:
        await self.source.close()
        if self.event_session is not None:
            await self.event_session.close()

    async def _poll_on(self) -> None:
        while True:
            started = time.monotonic()
            await self.poll_once()
            took = time.monotonic() - started
            await asyncio.sleep(pause(self.interval, took, random.random()))  # noqa: S311  no secret

    async def poll_once(self) -> None:
        started, state, failure = time.monotonic(), self.state, None
        try:
            deadline = started + self.timeout
            snapshot = await self._request(deadline)
            snapshot, found = await self._find_more(snapshot, deadline)
            state = state.asked(snapshot, self.clock())
            self._log.asked(snapshot)
            state = await self._render(state, snapshot, found)
        except Exception as error:  # ours: it must not end the polling, nor pass in silence
            state, failure = state.failed(), error
            logger.debug("poll failed", exc_info=True)
        if self.event_session is not None:
            state = state.heard(self.event_session.standing(), self.event_session.troubles())
        self.state = state.polled(time.monotonic() - started)
        self._log.polled(self.state, self.clock(), failure)

    def is_stale(self, now: float) -> bool:
        return self.state.is_stale(now)

    def served(self, now: float) -> Rendered:
        return self.state.served(now)

    async def _request(self, deadline: float) -> Snapshot:
        limit = asyncio.timeout(self.timeout + self.grace)
        try:
            async with limit:
                return await self.source.poll(deadline)
        except TimeoutError as error:
            if not limit.expired():
                raise
            reason = f"no end {self.grace:g} s after the deadline"
            raise PollOverrunError(reason) from error

    async def _find_more(self, snapshot: Snapshot, deadline: float) -> tuple[Snapshot, Found]:
        """What was heard since the last poll, and what only single requests tell.

        Both may need a connection of their own; one that hangs must not hold up what is known.
        """
        found = Found()
        if not any(outcome.ok for outcome in snapshot.outcomes):
            return snapshot, found
        now = time.monotonic()
        deadline = now + max(0.0, deadline - now) * _SHARE_OF_EXTRAS
        if (event_session := self.event_session) is not None:
            event_session.learn_names(snapshot)
            with suppress(TimeoutError):  # whoever does not answer is a trouble of the hearing
                async with asyncio.timeout_at(_loop_time(deadline)):
                    await event_session.catch_up(deadline)
            found = Found(event_session.taken(), event_session.listening)
        if self.per_consumer_requests is not None:
            read = await self.per_consumer_requests.read(snapshot, self.state.signals, deadline)
            found = dataclass_replace(found, lags=read.lags, counts=read.counts)
            snapshot = replace(
                snapshot,
                outcomes=(*snapshot.outcomes, *read.outcomes),
                skipped=(*snapshot.skipped, *read.skipped),
            )
        return snapshot, found

    async def _render(self, state: SystemState, snapshot: Snapshot, found: Found) -> SystemState:
        if any(outcome.ok for outcome in snapshot.outcomes):
            made = await asyncio.to_thread(self._digest.take, snapshot, found)
            if self.event_session is not None and snapshot.complete:
                self.event_session.keep_only(made.consumers, made.streams)
            self._audit_log.update(made.report)
            return state.succeeded(snapshot, made.rendered, made.signals).audited(made.report)
        # Of what nobody answered only the servers are known: they are down.
        servers = replace(snapshot, streams=(), consumers=(), accounts=(), meta=None)
        return state.unanswered(await asyncio.to_thread(self._silence.render, servers))


def _loop_time(deadline: float) -> float:
    """A time of time.monotonic() as the event loop counts."""
    return asyncio.get_running_loop().time() + deadline - time.monotonic()


def pause(interval: float, took: float, chance: float) -> float:
    """Seconds until the next poll may begin; `chance` is between 0 and 1."""
    jittered = interval * (1 + JITTER * (2 * chance - 1))
    return max(jittered - took, LEAST_REST * interval)
