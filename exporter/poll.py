"""The loop: when a system is polled, with what deadline, and what is kept when an answer fails."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from dataclasses import dataclass, field

from exporter.model import Outcome, Skipped, Snapshot
from exporter.samples.render import Rendered, Renderer
from exporter.sources.source import Source
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)

# Past so many intervals what was learnt is no longer served: a frozen number is worse than none.
STALE_AFTER_INTERVALS = 3
# Systems and replicas started together must not ask in step for ever.
_JITTER = 0.05
# A source honours its deadline by itself; this only catches one that does not.
_GRACE_SECONDS = 5.0
_NOTHING = Rendered((), 0, 0, 0)


@dataclass(slots=True)
class QuestionRecord:
    """How a question went the last time it was asked."""

    outcome: Outcome
    answered: float | None  # time.time() of its last good answer


@dataclass(slots=True)
class SystemState:
    """What a system's polls have brought so far; read by the web side, written by the loop."""

    snapshot: Snapshot | None = None  # the last one that any server answered
    rendered: Rendered = _NOTHING  # of that snapshot
    silence: Rendered = _NOTHING  # what is still true when nobody answers: its servers are down
    polls: int = 0
    poll_seconds: float | None = None
    complete: bool = False
    last_answer: float | None = None  # time.time()
    servers_expected: int | None = None
    servers_answered: int | None = None
    questions: dict[str, QuestionRecord] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    series_dropped: int = 0

    def age(self, now: float) -> float | None:
        return None if self.last_answer is None else max(0.0, now - self.last_answer)


@dataclass(slots=True)
class SystemPoller:
    system: str
    source_name: str
    targets: tuple[str, ...]
    source: Source
    renderer: Renderer
    interval: float
    timeout: float
    state: SystemState = field(default_factory=SystemState)
    _log: StateLog = field(default_factory=lambda: StateLog(logger))

    async def run(self) -> None:
        """Polls until cancelled; one poll ends before the next begins."""
        try:
            while True:
                started = time.monotonic()
                await self.poll_once()
                pause = self.interval * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  no secret
                await asyncio.sleep(max(0.0, started + pause - time.monotonic()))
        finally:
            await self.source.close()

    async def poll_once(self) -> None:
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.timeout + _GRACE_SECONDS):
                snapshot = await self.source.poll(started + self.timeout)
                await self._keep(snapshot)
        except (
            Exception
        ) as error:  # a mistake of ours must not end the polling, nor pass in silence
            self.state.errors["poll", "internal"] += 1
            self.state.complete = False
            event(logger, logging.ERROR, "poll failed", system=self.system, error=error)
            logger.debug("poll failed", exc_info=True)
        self.state.polls += 1
        self.state.poll_seconds = time.monotonic() - started
        if self.state.poll_seconds > self.interval:
            self._report("pace", "slow", logging.WARNING, "a poll takes longer than the interval")
        else:
            self._report("pace", "ok", logging.DEBUG, "polls keep to the interval")

    def is_stale(self, now: float) -> bool:
        age = self.state.age(now)
        return age is None or age > STALE_AFTER_INTERVALS * self.interval

    def served(self, now: float) -> Rendered:
        """What a scrape gets: judged at the scrape, for a poll may hang."""
        return self.state.silence if self.is_stale(now) else self.state.rendered

    async def _keep(self, snapshot: Snapshot) -> None:
        state, now = self.state, time.time()
        self._note(snapshot, now)
        if any(outcome.ok for outcome in snapshot.outcomes):
            state.rendered = await asyncio.to_thread(self.renderer.render, snapshot)
            state.snapshot, state.last_answer = snapshot, snapshot.taken
            state.series_dropped += state.rendered.dropped
            state.silence = _NOTHING
        else:
            state.silence = await asyncio.to_thread(self.renderer.render, snapshot)
        self._tell(snapshot, now)

    def _note(self, snapshot: Snapshot, now: float) -> None:
        state = self.state
        state.complete = snapshot.complete
        state.servers_expected = snapshot.servers_expected
        state.servers_answered = snapshot.servers_answered
        state.skipped = snapshot.skipped
        for outcome in snapshot.outcomes:
            before = state.questions.get(outcome.question)
            answered = now if outcome.ok else before.answered if before else None
            state.questions[outcome.question] = QuestionRecord(outcome, answered)
            if not outcome.ok:
                state.errors[outcome.question, outcome.reason] += 1
        for fault in snapshot.faults:
            state.errors[fault.question, fault.reason] += fault.count

    def _tell(self, snapshot: Snapshot, now: float) -> None:
        """One line per change of state, never one per poll."""
        for outcome in snapshot.outcomes:
            if outcome.ok:
                self._report(outcome.question, "ok", logging.INFO, "question answered",
                             question=outcome.question)  # fmt: skip
            else:
                self._report(outcome.question, outcome.reason, logging.WARNING, "question failed",
                             question=outcome.question, reason=outcome.reason,
                             detail=outcome.detail)  # fmt: skip
        for fault in snapshot.faults:
            self._report((fault.question, fault.reason), fault.count, logging.WARNING,
                         "part of an answer is left out", question=fault.question,
                         reason=fault.reason, count=fault.count, detail=fault.detail)  # fmt: skip
        for server in snapshot.servers:
            self._report(("server", server.name), server.up,
                         logging.INFO if server.up else logging.WARNING,
                         "server answers" if server.up else "server is silent",
                         server=server.name)  # fmt: skip
        stale = self.is_stale(now)
        self._report("stale", stale, logging.ERROR if stale else logging.INFO,
                     "no answer: its series are dropped" if stale else "series are fresh")  # fmt: skip
        over = self.state.rendered.dropped > 0
        self._report("cap", over, logging.WARNING if over else logging.DEBUG,
                     "series beyond max_series are left out" if over else "all series fit",
                     dropped=self.state.rendered.dropped)  # fmt: skip

    def _report(
        self, key: object, value: object, level: int, message: str, **fields: object
    ) -> None:
        self._log.report((key,), (value,), level, message, system=self.system, **fields)
