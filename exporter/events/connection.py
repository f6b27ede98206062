"""The connection of event subscriptions: reconnects for ever, and reports denied subjects."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import SlowConsumerError

from exporter.errors import RequestError
from exporter.sources.request_context import RETRY_AFTER_SECONDS
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess
from exporter.subscription_counts import EXPORTER_GROUP
from streamgauge.serving.log_format import exception_text
from streamgauge.serving.logs import StateLog, event

logger = logging.getLogger(__name__)

_DENIED = re.compile(r'permissions violation for subscription to "([^"]*)"')
# A server that disappeared without closing is noticed after at most three pings.
PING_SECONDS = 5
# A random pause, so that many exporters do not reconnect at the same time.
_LEAST_PAUSE, _MOST_PAUSE = 1.0, 2.0
MOST_BYTES = 64 * 1024**2
_BYTES_BESIDE = 1_024  # what a message that waits takes beside its own bytes


@dataclass(frozen=True, slots=True)
class EventSubscription:
    """A subject, its handler, and the limits of its queue."""

    subject: str
    handler: Callable[[Msg], None]
    most_messages: int = 65_536
    most_bytes: int = MOST_BYTES
    in_exporter_group: bool = False  # subscribe in a queue group that marks it as an exporter


class EventConnection(NatsConnection):
    """Subscribes only; it sends no requests, so it has no inbox."""

    def __init__(
        self,
        access: NatsAccess,
        name: str,
        wanted: Sequence[EventSubscription],
        *,
        ping_interval: int = PING_SECONDS,
        retry: float = RETRY_AFTER_SECONDS,
    ) -> None:
        super().__init__(access, name)
        self._wanted = tuple(wanted)
        self._ping_interval = ping_interval
        self._retry = retry
        self._ended = asyncio.Event()
        self._stopped = False
        self._log = StateLog(logger)
        self._subscriptions: dict[str, Subscription] = {}
        self._last_retry = 0.0  # time.monotonic() of the last try to subscribe to denied subjects
        self._settled = False  # the server has accepted or denied all subscriptions
        self._logged_denied: frozenset[str] = frozenset()
        self.connected_since: float | None = None
        self.denied: frozenset[str] = frozenset()
        self.problem = ""  # why it is not connected
        self.breaks = 0  # how often messages may have been missed
        self.dropped = 0  # messages dropped because the queue was full

    @property
    def name(self) -> str:
        return self._name

    @property
    def wanted(self) -> tuple[EventSubscription, ...]:
        return self._wanted

    def lower_queues(self, most_bytes: int) -> None:
        """Of each subscription; for those that are made from now on."""
        self._wanted = tuple(
            replace(
                each,
                most_bytes=min(each.most_bytes, most_bytes),
                most_messages=min(each.most_messages, most_bytes // _BYTES_BESIDE),
            )
            for each in self._wanted
        )

    async def run(self) -> None:
        """Until cancelled or stopped."""
        try:
            while not self._stopped:
                await self._run_connection_safely()
                if not self._stopped:
                    await asyncio.sleep(random.uniform(_LEAST_PAUSE, _MOST_PAUSE))  # noqa: S311  no secret
        finally:
            self.connected_since = None
            await self.close()

    def stop(self) -> None:
        """May be called from a handler; `run` then ends."""
        self._stopped = True
        self._ended.set()

    async def _run_connection_safely(self) -> None:
        try:
            await self._run_connection()
        except Exception as error:  # a bug: it must not end the session, and is logged
            logger.debug("listening failed", exc_info=True)
            self._report_problem(exception_text(error))
            await self.close()

    async def _run_connection(self) -> None:
        """One connection, from its opening to its end."""
        try:
            await self.open()
        except RequestError as error:
            self._report_problem(error.detail)
            return
        self.connected_since, self.problem = time.time(), ""
        fields = {"connection": self._name, "server": self.server_info.get("server_name", "")}
        self._log.report("connected", True, logging.INFO, "event subscriptions connected", **fields)
        try:
            await self._wait_until_lost()
        finally:
            self.connected_since = None
            self.breaks += 1
        await self.close()
        if not self._stopped:
            self._report_problem(self._last_error or "the server closed the connection")

    async def _wait_until_lost(self) -> None:
        client = self._client
        while client is not None and not self._ended.is_set():
            try:
                async with asyncio.timeout(2 * self._ping_interval):
                    await self._ended.wait()
            except TimeoutError:
                if not await self._is_alive(client, self._ping_interval):
                    return
                await self._retry_denied(client)

    async def _retry_denied(self, client: Client) -> None:
        """Permissions may have changed. Rarely, because each try writes a line to the server's log."""
        denied = self.denied
        if not denied or time.monotonic() - self._last_retry < self._retry:
            return
        try:
            await self._subscribe(client, [each for each in self._wanted if each.subject in denied])
        except (NatsError, OSError, TimeoutError):
            return  # the next ping detects a lost connection
        if not self.denied:
            self.connected_since = time.time()  # complete only from now on

    def _report_problem(self, why: str) -> None:
        self.problem = why
        fields = {"connection": self._name, "reason": why}
        self._log.report(
            "connected", False, logging.WARNING, "event subscriptions not connected", **fields
        )

    async def _listen(self, client: Client) -> None:
        self._ended.clear()
        self._subscriptions.clear()
        await self._subscribe(client, self._wanted)
        if self._stopped:
            self._ended.set()

    async def _subscribe(self, client: Client, wanted: Iterable[EventSubscription]) -> None:
        self._settled, self.denied = False, frozenset()
        self._last_retry = time.monotonic()
        # Never reuse a group: an old connection that the server still knows would get part of the messages.
        group = EXPORTER_GROUP + secrets.token_hex(8)
        for each in wanted:
            if refused := self._subscriptions.pop(each.subject, None):
                await refused.unsubscribe()
            self._subscriptions[each.subject] = await client.subscribe(
                each.subject,
                queue=group if each.in_exporter_group else "",
                cb=_as_callback(each.handler),
                pending_msgs_limit=each.most_messages,
                pending_bytes_limit=each.most_bytes,
            )
        # The first ping of the library may overtake subscriptions that are not sent yet. The second one
        # cannot, and the server reports denied subjects before it responds to it.
        await client.flush()
        await client.flush()
        self._settled = True
        self._log_denied()

    def _log_denied(self) -> None:
        if self.denied == self._logged_denied:
            return
        self._logged_denied = self.denied
        subjects = ", ".join(sorted(self.denied))
        if subjects:
            message = "subscription denied, grant the subscribe permission"
            event(logger, logging.WARNING, message, connection=self._name, denied=subjects)
        else:
            event(logger, logging.INFO, "subscriptions no longer denied", connection=self._name)

    async def _on_error(self, error: Exception) -> None:
        if isinstance(error, SlowConsumerError):
            self._note_drop()
            return
        if violation := _DENIED.search(str(error).lower()):
            # The library gives the subject in lower case.
            found = [each.subject for each in self._wanted if each.subject.lower() == violation[1]]
            self.denied |= frozenset(found or [violation[1]])
            if self._settled:  # revoked later, by a reload of the server's configuration
                self._log_denied()
            return
        if isinstance(error, NatsError | OSError):
            await super()._on_error(error)
            return
        # A bug in a handler: log it and keep the connection.
        kind = type(error).__name__
        self._log.report(("handler", kind), True, logging.ERROR, "event handler failed",
                         connection=self._name, error=error)  # fmt: skip

    def _note_drop(self) -> None:
        self.dropped += 1
        self.breaks += 1
        if self.connected_since is not None:  # complete only from now on
            self.connected_since = time.time()
        message = "subscription queue full, messages dropped"
        self._log.report("dropped", True, logging.WARNING, message, connection=self._name)

    async def _on_closed(self) -> None:
        self._ended.set()


def _as_callback(handler: Callable[[Msg], None]) -> Callable[[Msg], Coroutine[Any, Any, None]]:
    async def take(message: Msg) -> None:
        handler(message)

    return take
