"""One NATS connection: requests with a deadline, failures mapped to catalog.REASONS.

Every request reconnects when needed, and each connect reads the credentials again.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.transport import WebSocketTransport
from nats.errors import Error as NatsError
from nats.errors import NoServersError

from exporter.errors import RequestError
from exporter.sources.transport.bounded_client import BoundedClient
from exporter.sources.transport.credentials import NatsAccess, without_secrets
from exporter.sources.transport.tls_client import NO_TLS, TlsClient
from streamgauge.serving.logs import event
from streamgauge.serving.memory_limit import within_memory
from streamgauge.serving.settings.loader import SettingsError

logger = logging.getLogger(__name__)

_VIOLATION = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"')
_DOMAIN_API = re.compile(r"^\$js\.[^.]+\.api\.")
_NO_RESPONDERS = "503"
_CONNECT_SECONDS = 3.0
# What OpenSSL, by its version, reports when the other side responds in plain text.
_PLAIN_TEXT = re.compile("wrong.version.number|record layer failure", re.IGNORECASE)
# Replies are read at once, but those of a large system may all arrive in one burst.
_PENDING_MESSAGES = 1_000_000
_PENDING_BYTES = 2 * 1024**3
_RESPONSE_BYTES = 1024**3
# After a request without any response: a connection that is still alive responds to a ping in this time.
_PING_SECONDS = 2
# A connection that does not close in this time is abandoned.
_CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Reply:
    data: bytes
    headers: Mapping[str, str]
    sent: float  # wall clock when the request left
    round_trip: float  # seconds until this reply was here


@dataclass(slots=True)
class _Waiting:
    subject: str
    take: Callable[[Msg], None]
    fail: Callable[[RequestError], None]


class NatsConnection:
    """The only place that touches nats-py."""

    def __init__(
        self, access: NatsAccess, name: str, *, max_response_bytes: int = _RESPONSE_BYTES
    ) -> None:
        self._access = access
        self._name = name
        self._max_response_bytes = max_response_bytes
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._tokens = itertools.count()
        self._inbox = ""
        self._inbox_denied = False
        self._discovered: list[str] = []
        self._next_address = 0  # index of the next address to try
        self._last_error = ""
        self._doubtful = False  # a request got no response; the connection may have stalled
        self.reconnects = -1
        self.last_server_id = ""

    @property
    def server_info(self) -> Mapping[str, Any]:
        """The INFO of the connected server; empty while not connected."""
        client = self._client
        return client._server_info if client and client.is_connected else {}  # noqa: SLF001  no public way

    async def open(self) -> None:
        """Connects unless connected; tries every address once."""
        async with self._opening:
            if await self._is_usable():
                return
            await self._drop()
            # Configured addresses first: discovered ones may be unreachable from here.
            addresses = list(dict.fromkeys([*self._access.addresses, *self._discovered]))
            failures = []
            for _ in addresses:
                address = addresses[self._next_address % len(addresses)]
                # Counted before the try, which may be cancelled: the next call continues after it.
                self._next_address += 1
                try:
                    self._client = await self._connect(address)
                except (NatsError, OSError, TimeoutError, ValueError, SettingsError) as error:
                    failures.append(f"{without_secrets(address)}: {self._why(error)}")
                else:
                    self._next_address = addresses.index(address)
                    self.reconnects += 1
                    return
            self._next_address = 0
            raise RequestError("connection", "; ".join(failures))

    async def _is_usable(self) -> bool:
        client = self._client
        if client is None or not client.is_connected:
            return False
        if self._doubtful and not await self._is_alive(client, _PING_SECONDS):
            event(logger, logging.WARNING, "connection stalled, connecting again",
                  connection=self._name, reason=self._last_error)  # fmt: skip
            self._next_address += 1
            return False
        self._doubtful = False
        return True

    async def _is_alive(self, client: Client, seconds: int) -> bool:
        """The library itself pings every two minutes and gives up at the third ping."""
        task = client._reading_task  # noqa: SLF001  no public way
        if task is None or task.done():  # a flush would then succeed without a server
            self._last_error = "the connection is no longer read"
            return False
        try:
            await client.flush(seconds)
        except (NatsError, OSError, TimeoutError):
            self._last_error = f"no response to a ping within {seconds} s"
            return False
        return True

    async def _connect(self, address: str) -> Client:
        options = await asyncio.to_thread(self._access.connect_options)
        self._last_error = ""
        client = TlsClient() if self._access.requires_tls else BoundedClient()
        client.bound(self._max_response_bytes, self._on_oversize)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await client.connect(
                    servers=[address],
                    name=self._name,
                    allow_reconnect=False,
                    # Otherwise the library retries a dead address for two minutes.
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    connect_timeout=int(_CONNECT_SECONDS),
                    error_cb=self._on_error,
                    closed_cb=self._on_closed,
                    **options,
                )
                await self._listen(client)
        except BaseException:
            await _discard(client)
            raise
        self.last_server_id = str(client._server_info.get("server_id", ""))  # noqa: SLF001  no public way
        # The server reports them without a scheme; the library assumes nats:// for WebSockets, too.
        scheme = urlsplit(address).scheme
        self._discovered = [
            server._replace(scheme=scheme).geturl() for server in client.discovered_servers
        ]
        return client

    async def _listen(self, client: Client) -> None:
        self._inbox_denied = False
        self._inbox = client.new_inbox()
        await client.subscribe(
            self._inbox + ".*",
            cb=self._on_reply,
            pending_msgs_limit=_PENDING_MESSAGES,
            pending_bytes_limit=within_memory(_PENDING_BYTES, 4, "responses that wait"),
        )

    async def request(self, subject: str, payload: bytes = b"", *, timeout: float) -> Reply:
        """One request, one reply."""
        response: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        sent, started = time.time(), time.perf_counter()

        def take(message: Msg) -> None:
            if not response.done():
                response.set_result(_reply(message, sent, started))

        def fail(error: RequestError) -> None:
            if not response.done():
                response.set_exception(error)

        token = await self._publish(subject, payload, None, take, fail)
        try:
            async with asyncio.timeout(max(0.0, timeout)):
                reply = await response
        except TimeoutError:
            raise self._no_response(subject, timeout) from None
        finally:
            self._waiting.pop(token, None)
        return _responded(reply, subject)

    async def gather(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        enough: Callable[[list[Reply]], bool],
        quiet: float,
        timeout: float,
        linger: float = 0.0,
        headers: dict[str, str] | None = None,
    ) -> list[Reply]:
        """One request to all servers; ends after `quiet` seconds without a reply, or the timeout.

        Once the replies are `enough`, it ends after `linger` seconds without a reply.
        """
        arrived: asyncio.Queue[Reply | RequestError] = asyncio.Queue()
        sent, started = time.time(), time.perf_counter()
        token = await self._publish(
            subject,
            payload,
            headers,
            lambda message: arrived.put_nowait(_reply(message, sent, started)),
            arrived.put_nowait,
        )
        replies: list[Reply] = []
        try:
            while not (satisfied := enough(replies)) or linger > 0:
                left = timeout - (time.perf_counter() - started)
                wait = linger if satisfied else quiet if replies else left
                item = await _next_within(arrived, min(left, wait))
                if item is None:
                    break
                if isinstance(item, RequestError):
                    raise item
                replies.append(_responded(item, subject))
        finally:
            self._waiting.pop(token, None)
        if not replies:
            raise self._no_response(subject, timeout)
        return replies

    def _no_response(self, subject: str, timeout: float) -> RequestError:
        self._doubtful = True
        return RequestError("timeout", f"{subject}: no response within {timeout:.1f} s")

    async def close(self) -> None:
        async with self._opening:
            await self._drop()

    async def _publish(
        self,
        subject: str,
        payload: bytes,
        headers: dict[str, str] | None,
        take: Callable[[Msg], None],
        fail: Callable[[RequestError], None],
    ) -> str:
        await self.open()
        client = self._client
        token = str(next(self._tokens))
        self._waiting[token] = _Waiting(subject, take, fail)
        try:
            if client is None:
                raise RequestError("disconnected", f"{subject}: not connected")
            if self._inbox_denied:  # it may be allowed by now; if not, the server denies it again
                await self._listen(client)
            await client.publish(subject, payload, reply=f"{self._inbox}.{token}", headers=headers)
        except NatsError as error:
            self._waiting.pop(token, None)
            raise RequestError("disconnected", f"{subject}: {_error_text(error)}") from error
        return token

    async def _drop(self) -> None:
        client, self._client = self._client, None
        self._doubtful = False
        if client is None or client.is_closed:
            return
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await client.close()
        except TimeoutError:
            event(logger, logging.WARNING, "connection did not close in time",
                  connection=self._name)  # fmt: skip

    async def _on_reply(self, message: Msg) -> None:
        self._doubtful = False
        waiting = self._waiting.get(message.subject.rpartition(".")[2])
        if waiting is not None:  # else it came after its deadline: already reported as a timeout
            waiting.take(message)

    async def _on_error(self, error: Exception) -> None:
        violation = _VIOLATION.search(str(error).lower())
        if violation is None:
            self._last_error = _error_text(error)
            return
        kind, subject = violation.groups()
        if kind == "subscription":
            self._inbox_denied = True
            self._fail_waiting(RequestError("permission", f"subscribing to {subject} is denied"))
            return
        # The server does not reply to a denied publish; without this it would be a timeout.
        for waiting in list(self._waiting.values()):
            if subject in (waiting.subject.lower(), _as_checked(waiting.subject)):
                waiting.fail(
                    RequestError("permission", f"publishing to {waiting.subject} is denied")
                )

    def _why(self, error: BaseException) -> str:
        """The error of an address; the library reports a refusal only as "no servers"."""
        if isinstance(error, TimeoutError):
            return f"no response within {_CONNECT_SECONDS:.0f} s"
        known = isinstance(error, NoServersError) and self._last_error
        why = self._last_error if known else _error_text(error)
        if self._access.requires_tls and _PLAIN_TEXT.search(why):
            return f"{NO_TLS} ({why})"
        return why

    async def _on_closed(self) -> None:
        why = self._last_error or "the server closed the connection"
        self._fail_waiting(RequestError("disconnected", why))

    def _on_oversize(self, detail: str) -> None:
        self._last_error = detail
        self._fail_waiting(RequestError("size", detail))

    def _fail_waiting(self, error: RequestError) -> None:
        for waiting in list(self._waiting.values()):
            waiting.fail(error)


def _as_checked(subject: str) -> str:
    """A server of the domain maps $JS.<domain>.API to $JS.API before it checks permissions."""
    return _DOMAIN_API.sub("$js.api.", subject.lower())


async def _discard(client: Client) -> None:
    """The library leaves its socket open when a server rejects the connection.

    Its close() does not help: after a failed TLS handshake it waits for ever.
    """
    transport = client._transport  # noqa: SLF001  no public way
    if client.is_connected:
        await client.close()
    elif isinstance(transport, WebSocketTransport):
        # Both are None after the library has closed them.
        parts: tuple[Any, ...] = (transport._ws, transport._client)  # noqa: SLF001  no public way
        for part in parts:
            if part is not None:
                await part.close()
    elif transport is not None:
        transport.close()  # type: ignore[no-untyped-call]


async def _next_within(
    arrived: asyncio.Queue[Reply | RequestError], seconds: float
) -> Reply | RequestError | None:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            return await arrived.get()
    except TimeoutError:
        return None


def _reply(message: Msg, sent: float, started: float) -> Reply:
    return Reply(message.data, message.headers or {}, sent, time.perf_counter() - started)


def _responded(reply: Reply, subject: str) -> Reply:
    if not reply.data and reply.headers.get("Status") == _NO_RESPONDERS:
        raise RequestError("no_responders", f"{subject}: no responders")
    return reply


def _error_text(error: BaseException) -> str:
    return str(error).strip() or type(error).__name__
