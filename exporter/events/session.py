"""The event session of one NATS system: listeners, publish-ack tap, capture, and their state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass

from exporter.events.account_name import AccountName
from exporter.events.ack_tap import AckTap
from exporter.events.capture import Capture
from exporter.events.connection import MOST_BYTES, EventConnection
from exporter.events.counts import ConsumerCounts, ConsumerKey, EventCounts, StreamKey
from exporter.events.listener import Listener
from exporter.events.state import EventState
from exporter.model import Snapshot
from exporter.sources.transport.connection import NatsConnection
from streamgauge.serving.memory_limit import LIMIT, within_memory
from streamgauge.serving.rate_limit import RateLimitedLog

_PARTS_OF_MEMORY = 8
_log = RateLimitedLog(logging.getLogger(__name__))


@dataclass(slots=True)
class EventSession:
    """`run` beside the polls; within each poll `catch_up`, then `counts` and `forget_absent`."""

    state: EventState
    listeners: tuple[Listener, ...] = ()
    tap: AckTap | None = None
    capture: Capture | None = None
    account_name: AccountName | None = None
    connection: NatsConnection | None = None  # for requests, when the session owns it

    async def run(self) -> None:
        """Until cancelled; listeners and tap close their connections at the end."""
        async with asyncio.TaskGroup() as group:
            for listener in self.listeners:
                group.create_task(listener.run())
            if self.tap is not None:
                group.create_task(self.tap.run())

    async def close(self) -> None:
        if self.connection is not None:
            await self.connection.close()

    @property
    def connections(self) -> list[EventConnection]:
        """Of the listeners and the tap."""
        listening = [listener.connection for listener in self.listeners]
        return listening if self.tap is None else [*listening, self.tap.connection]

    @property
    def dropped(self) -> int:
        """Events beyond a bound of the state, and beyond those of the listeners' queues."""
        return self.state.dropped + self.dropped_unread

    @property
    def dropped_unread(self) -> int:
        return sum(listener.connection.dropped for listener in self.listeners)

    def fit_into(self, memory: int | None = LIMIT) -> None:
        """All queues together keep a part of the memory limit."""
        count = sum(len(connection.wanted) for connection in self.connections)
        wanted = MOST_BYTES * count
        most = within_memory(wanted, _PARTS_OF_MEMORY, "events that wait", memory)
        if most < wanted:
            for connection in self.connections:
                connection.lower_queues(most // count)

    def update_account_names(self, snapshot: Snapshot) -> None:
        """Takes over the account names of the polls."""
        if snapshot.own_account:
            self.state.name_account(snapshot.own_account)
        if snapshot.account_names:
            self.state.account_names = snapshot.account_names

    async def catch_up(self, deadline: float) -> None:
        """Reads new messages of the capture stream; `deadline` is a time.monotonic()."""
        if self.account_name is not None:
            await self.account_name.find()
        if self.capture is not None:
            await self.capture.catch_up(deadline)

    async def counts(self) -> EventCounts:
        """In portions: other tasks run in between."""
        consumers: dict[ConsumerKey, ConsumerCounts] = {}
        for portion in self.state.consumer_counts():
            consumers |= portion
            await asyncio.sleep(0)
        return self.state.counts(
            consumers,
            connected_since=self.connected_since,
            tap=self.tap.tap_state() if self.tap else None,
        )

    def connection_state(self) -> EventCounts:
        """The state of the connections, without any counts."""
        tap = self.tap.tap_state() if self.tap else None
        return EventCounts(connected_since=self.connected_since, tap=tap, dropped=self.dropped)

    async def forget_absent(
        self, consumers: Collection[ConsumerKey], streams: Collection[StreamKey], *, complete: bool
    ) -> None:
        """Removes what polls no longer name, in portions: other tasks run in between."""
        before = self.state.forgotten
        for _ in self.state.forget_absent(consumers, streams, complete=complete):
            await asyncio.sleep(0)
        if forgotten := self.state.forgotten - before:
            message = "events forgotten of streams and consumers that partial polls do not name"
            _log.log("forgotten", logging.WARNING, message, number=forgotten)

    @property
    def connected_since(self) -> float | None:
        """Since when all listeners receive all their subjects."""
        since = [listener.connected_since for listener in self.listeners]
        known = [moment for moment in since if moment is not None]
        return max(known) if known and len(known) == len(since) else None

    @property
    def listening(self) -> frozenset[str]:
        """Accounts whose delivery advisories are all received now."""
        listening = self.capture is not None and not self.capture.problem
        if self.capture is None:
            plans = [each for each in self.listeners if not each.config.of_system_account]
            listening = any(each.connected_since is not None for each in plans)
        return frozenset({self.state.own_account}) if listening else frozenset()

    def problems(self) -> tuple[str, ...]:
        """The current problems, for the status page."""
        return tuple(_problems(self))


def _problems(event_session: EventSession) -> list[str]:
    found = []
    if dropped := event_session.state.dropped:
        found.append(
            f"{dropped:,} events dropped: they name streams or consumers that do not exist"
        )
    if unread := event_session.dropped_unread:
        found.append(f"{unread:,} events dropped: they came faster than they were read")
    if event_session.tap is not None and event_session.tap.off:
        found.append(f"the publish-ack tap turned itself off: {event_session.tap.off}")
    for connection in event_session.connections:
        if connection.problem:
            found.append(f"{connection.name}: {connection.problem}")
        if connection.denied:
            found.append(
                f"{connection.name}: may not subscribe to {', '.join(sorted(connection.denied))}"
            )
    if event_session.capture is not None and event_session.capture.problem:
        found.append(
            f"capture stream {event_session.capture.stream}: {event_session.capture.problem}"
        )
    return found
