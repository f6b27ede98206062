"""The publish-ack tap: subscribes to an account's replies to count publishes that were not stored.

Opt-in. It never subscribes to stream subjects, and stores only a stream name and an error code.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from nats.aio.msg import Msg

from exporter.events.connection import EventConnection, EventSubscription
from exporter.events.counts import TapState
from exporter.events.publish_acks import read_publish_ack
from exporter.events.state import EventState
from exporter.sources.transport.credentials import NatsAccess
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)

# The window of the rate limit: a burst of one second must not turn the tap off.
WINDOW_SECONDS = 5.0
_MOST_BYTES_WAITING = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class TapLimits:
    max_rate: float = 10_000  # messages per second
    max_byte_rate: float = 32 * 1024**2  # bytes per second
    queue: int = 65_536  # messages that may wait


@dataclass(slots=True)
class RateLimit:
    """Counts messages and bytes in windows of WINDOW_SECONDS. Pure."""

    limits: TapLimits
    clock: Callable[[], float] = time.monotonic
    _began: float = -WINDOW_SECONDS
    _messages: int = 0
    _bytes: int = 0

    def exceeded(self, size: int, messages: int = 1) -> str:
        """The limit that these messages exceed; "" for none."""
        now = self.clock()
        if now - self._began >= WINDOW_SECONDS:
            self._began, self._messages, self._bytes = now, 0, 0
        self._messages += messages
        self._bytes += size
        if self._messages > self.limits.max_rate * WINDOW_SECONDS:
            return f"more than {self.limits.max_rate:g} messages per second"
        if self._bytes > self.limits.max_byte_rate * WINDOW_SECONDS:
            return f"more than {self.limits.max_byte_rate:g} bytes per second"
        return ""


@dataclass(slots=True)
class AckTap:
    access: NatsAccess
    state: EventState
    system: str
    inbox_prefixes: tuple[str, ...] = ("_INBOX",)
    limits: TapLimits = field(default_factory=TapLimits)
    rate_limit: RateLimit = field(init=False)
    connection: EventConnection = field(init=False)
    off: str = ""  # why it turned itself off, until a reload
    _dropped: int = 0  # dropped messages that the rate limit has counted

    def __post_init__(self) -> None:
        self.rate_limit = RateLimit(self.limits)
        name = f"streamgauge publish-ack tap ({self.system})"
        subscriptions = [
            EventSubscription(
                f"{prefix}.>", self._on_message, self.limits.queue, _MOST_BYTES_WAITING
            )
            for prefix in self.inbox_prefixes
        ]
        # A connection of its own: a flood of replies must not delay advisories.
        self.connection = EventConnection(self.access, name, subscriptions)

    async def run(self) -> None:
        await self.connection.run()

    def tap_state(self) -> TapState:
        connection = self.connection
        active = connection.connected_since is not None and not connection.denied and not self.off
        return TapState(self.state.own_account, active, connection.dropped, connection.breaks)

    def _on_message(self, message: Msg) -> None:
        if self.off:
            return
        missed = self.connection.dropped - self._dropped
        self._dropped += missed
        if too_much := self.rate_limit.exceeded(len(message.data), 1 + missed):
            self._switch_off(too_much)
            return
        # A publish ack has neither; a delivered message or a direct get has.
        if message.reply or message.headers:
            return
        unstored = read_publish_ack(message.data)
        if unstored is not None:
            self.state.record_unstored(unstored)

    def _switch_off(self, too_much: str) -> None:
        self.off = too_much
        self.connection.stop()
        event(logger, logging.WARNING, "publish-ack tap turned off, raise its limits and reload",
              system=self.system, reason=too_much)  # fmt: skip
