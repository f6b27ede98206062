"""The loop: when a system is polled, with what deadline, and what is kept when an answer fails."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from exporter.model import Snapshot
from exporter.poll_log import PollLog
from exporter.poll_state import STALE_AFTER_INTERVALS, SystemState
from exporter.samples.render import Rendered, Renderer
from exporter.signals.engine import SignalBook
from exporter.signals.told import Signals
from exporter.sources.source import Source

logger = logging.getLogger(__name__)

# Systems and replicas started together must not ask in step for ever.
JITTER = 0.05
# Polls that take longer than the interval must not follow each other without a break.
LEAST_REST = 0.1
# A source honours its deadline by itself; this only catches one that does not.
_GRACE_SECONDS = 5.0


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
    signals: SignalBook = field(default_factory=SignalBook, repr=False)
    state: SystemState = field(init=False, repr=False)
    _log: PollLog = field(init=False, repr=False)
    _silence: Renderer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.state = SystemState(STALE_AFTER_INTERVALS * self.interval)
        self._log = PollLog(self.system, self.interval)
        # One of its own: an empty page must not make the renderer forget what it keeps.
        renderer = self.renderer
        self._silence = Renderer(renderer.system, renderer.selection, renderer.limits)

    async def run(self) -> None:
        """Polls until cancelled; one poll ends before the next begins."""
        try:
            while True:
                started = time.monotonic()
                await self.poll_once()
                took = time.monotonic() - started
                await asyncio.sleep(pause(self.interval, took, random.random()))  # noqa: S311  no secret
        finally:
            await self.source.close()

    async def poll_once(self) -> None:
        started, state, failure = time.monotonic(), self.state, None
        try:
            snapshot = await self._ask(started + self.timeout)
            state = state.asked(snapshot, self.clock())
            self._log.asked(snapshot)
            state = await self._render(state, snapshot)
        except Exception as error:  # ours: it must not end the polling, nor pass in silence
            state, failure = state.failed(), error
            logger.debug("poll failed", exc_info=True)
        self.state = state.polled(time.monotonic() - started)
        self._log.polled(self.state, self.clock(), failure)

    def is_stale(self, now: float) -> bool:
        return self.state.is_stale(now)

    def served(self, now: float) -> Rendered:
        return self.state.served(now)

    async def _ask(self, deadline: float) -> Snapshot:
        limit = asyncio.timeout(self.timeout + self.grace)
        try:
            async with limit:
                return await self.source.poll(deadline)
        except TimeoutError as error:
            if not limit.expired():
                raise
            reason = f"no end {self.grace:g} s after the deadline"
            raise PollOverrunError(reason) from error

    async def _render(self, state: SystemState, snapshot: Snapshot) -> SystemState:
        if any(outcome.ok for outcome in snapshot.outcomes):
            rendered, signals = await asyncio.to_thread(self._digest, snapshot)
            return state.answered(snapshot, rendered, signals)
        # Of what nobody answered only the servers are known: they are down.
        servers = replace(snapshot, streams=(), consumers=(), accounts=(), meta=None)
        return state.unanswered(await asyncio.to_thread(self._silence.render, servers))

    def _digest(self, snapshot: Snapshot) -> tuple[Rendered, Signals]:
        """Off the event loop: it goes through every stream and consumer."""
        signals = self.signals.update(snapshot)
        return self.renderer.render(snapshot, signals), signals


def pause(interval: float, took: float, chance: float) -> float:
    """Seconds until the next poll may begin; `chance` is between 0 and 1."""
    jittered = interval * (1 + JITTER * (2 * chance - 1))
    return max(jittered - took, LEAST_REST * interval)
