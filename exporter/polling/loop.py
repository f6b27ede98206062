"""The poll loop of one system: interval, deadline, and what is served after a failure."""

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
from exporter.polling.account_requests import AccountRequests
from exporter.polling.history import History
from exporter.polling.log import PollLog
from exporter.polling.pipeline import Pipeline, PollExtras
from exporter.polling.state import STALE_AFTER_INTERVALS, SystemState
from exporter.polling.system_name import system_name
from exporter.samples.render import Rendered, Renderer
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.signals.engine import SignalState
from exporter.signals.publishes.engine import PublishState
from exporter.sources.source import Source
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)

# Systems and replicas that start together must not poll in step for ever.
JITTER = 0.05
# Polls that take longer than the interval must not follow each other without a break.
MIN_PAUSE = 0.1
# A source honours its deadline; this only catches one that does not.
_GRACE_SECONDS = 5.0
# So long a system without a name in the settings waits for a complete poll that decides it.
NAMING_SECONDS = 60.0
# Share of the remaining time for events and requests as a user of the account, after the state.
_SHARE_OF_EXTRAS = 0.5


class PollOverrunError(Exception):
    """A source did not return: a bug of the exporter, not a fault of NATS."""


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
    account_requests: AccountRequests | None = field(default=None, repr=False)
    publish_interval: float = 60.0  # seconds between two requests for publish counts
    audit: AuditState | None = field(default=None, repr=False)
    unnamed: bool = False  # the name is still to be decided: nothing is served under it
    naming_seconds: float = NAMING_SECONDS
    limits: Limits = DEFAULT_LIMITS  # by which conditions are judged
    state: SystemState = field(init=False, repr=False)
    _pipeline: Pipeline = field(init=False, repr=False)
    _log: PollLog = field(init=False, repr=False)
    _audit_log: AuditLog = field(init=False, repr=False)
    _first_response: float | None = field(default=None, init=False, repr=False)  # time.monotonic()

    def __post_init__(self) -> None:
        self.state = SystemState(STALE_AFTER_INTERVALS * self.interval, self.limits)
        self._log = PollLog(self.system, self.interval)
        self._audit_log = AuditLog(self.system)
        publishes = PublishState(STALE_AFTER_INTERVALS * self.publish_interval)
        signals = SignalState(self.limits)
        self._pipeline = Pipeline(self.renderer, signals, publishes, self.audit)

    async def run(self) -> None:
        """Polls and receives events until cancelled; polls never overlap."""
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
            self._decide_name(snapshot)
            snapshot = replace(snapshot, system=self.system)
            snapshot, found = await self._find_more(snapshot, deadline)
            state = state.with_outcomes(snapshot, self.clock())
            self._log.log_requests(snapshot)
            if not self.unnamed:
                state = await self._render(state, snapshot, found)
        except Exception as error:  # a bug: it must not end the polling, and is logged
            state, failure = state.failed(), error
            logger.debug("poll failed", exc_info=True)
        if self.event_session is not None:
            state = state.with_events(
                self.event_session.connection_state(), self.event_session.problems()
            )
        self.state = state.polled(time.monotonic() - started)
        self._log.log_poll(self.state, self.clock(), failure)

    def _decide_name(self, snapshot: Snapshot) -> None:
        """A name that was served must not change: alerts take the old one for a lost system."""
        if self.unnamed and (snapshot.complete or self._waited(snapshot)):
            self._take_name(system_name(snapshot))
            event(
                logger, logging.INFO, "system named", system=self.system, complete=snapshot.complete
            )

    def keep_name(self, before: SystemPoller) -> None:
        """The name of the poller that this one replaces."""
        if self.unnamed and not before.unnamed:
            self._take_name(before.system)

    def _waited(self, snapshot: Snapshot) -> bool:
        """Whether the next poll would be too late for the decision."""
        if not any(outcome.ok for outcome in snapshot.outcomes):
            return False
        now = time.monotonic()
        if self._first_response is None:
            self._first_response = now
        return now + self.interval - self._first_response > self.naming_seconds

    def _take_name(self, name: str) -> None:
        self.unnamed = False
        self.system = self._log.system = self._audit_log.system = name
        self.renderer = self._pipeline.renderer = self.renderer.renamed(name)

    @property
    def history(self) -> History:
        """Other threads may read it."""
        return self._pipeline.history

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
            reason = f"the poll did not end within {self.grace:g} s after its deadline"
            raise PollOverrunError(reason) from error

    async def _find_more(self, snapshot: Snapshot, deadline: float) -> tuple[Snapshot, PollExtras]:
        """Events since the last poll, and the results of requests as a user of the account.

        Both may need a connection of their own; one that hangs must not delay the snapshot.
        """
        found = PollExtras()
        if not any(outcome.ok for outcome in snapshot.outcomes):
            return snapshot, found
        now = time.monotonic()
        deadline = now + max(0.0, deadline - now) * _SHARE_OF_EXTRAS
        if (event_session := self.event_session) is not None:
            event_session.update_account_names(snapshot)
            with suppress(TimeoutError):  # the event session reports it as a problem
                async with asyncio.timeout_at(_loop_time(deadline)):
                    await event_session.catch_up(deadline)
            found = PollExtras(await event_session.counts(), event_session.listening)
        if self.account_requests is not None:
            read = await self.account_requests.read(snapshot, self.state.signals, deadline)
            found = dataclass_replace(
                found, lags=read.lags, counts=read.counts, subjects=read.subjects
            )
            snapshot = replace(
                snapshot,
                outcomes=(*snapshot.outcomes, *read.outcomes),
                skipped=(*snapshot.skipped, *read.skipped),
            )
        return snapshot, found

    async def _render(
        self, state: SystemState, snapshot: Snapshot, found: PollExtras
    ) -> SystemState:
        if any(outcome.ok for outcome in snapshot.outcomes):
            made = await asyncio.to_thread(self._pipeline.process, snapshot, found)
            if self.event_session is not None:
                await self.event_session.forget_absent(
                    made.consumers, made.streams, complete=snapshot.complete
                )
            self._audit_log.update(made.report)
            state = state.succeeded(snapshot, made.rendered, made.signals).audited(made.report)
            return state.recorded(made.history_dropped)
        return state.without_response(
            await asyncio.to_thread(self._pipeline.process_outage, snapshot, state.rendered)
        )


def _loop_time(deadline: float) -> float:
    """Converts a time of time.monotonic() to the clock of the event loop."""
    return asyncio.get_running_loop().time() + deadline - time.monotonic()


def pause(interval: float, took: float, chance: float) -> float:
    """Seconds until the next poll may begin; `chance` is a random number between 0 and 1."""
    jittered = interval * (1 + JITTER * (2 * chance - 1))
    return max(jittered - took, MIN_PAUSE * interval)
