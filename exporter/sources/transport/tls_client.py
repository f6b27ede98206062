"""A NATS client that sends nothing without TLS when TLS is required."""

from __future__ import annotations

from typing import Any

from nats.aio.client import Srv
from nats.aio.transport import TcpTransport, WebSocketTransport
from nats.errors import Error as NatsError

from exporter.sources.transport.bounded_client import BoundedClient

NO_TLS = "TLS is required by the configuration, but the server does not offer it"


class NoTlsError(NatsError):
    """Raised before CONNECT, which carries the credentials."""

    def __init__(self) -> None:
        super().__init__(NO_TLS)


class TlsClient(BoundedClient):
    """The library starts TLS only if the server requires it, and otherwise continues in plain text.

    The methods below are private ones of the library; tests/integration/sources/test_required_tls.py
    fails if a new version of it no longer calls them.
    """

    async def _connect_to_server(self, s: Srv) -> None:
        if s.uri.scheme == "ws":  # its HTTP request would already carry the password of the address
            raise NoTlsError
        await super()._connect_to_server(s)

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        if initial_connection and info.get("tls_available"):  # TLS is optional on this server
            info["tls_required"] = True
        await super()._process_info(info, initial_connection)

    def _connect_command(self) -> bytes:
        if not self._has_tls():
            raise NoTlsError
        return super()._connect_command()

    def _has_tls(self) -> bool:
        """By the socket itself: a redirect may have led a WebSocket to plain HTTP."""
        transport = self._transport
        if isinstance(transport, TcpTransport) and transport._io_writer is not None:  # noqa: SLF001  no public way
            return transport._io_writer.get_extra_info("ssl_object") is not None  # noqa: SLF001
        if isinstance(transport, WebSocketTransport) and transport._ws is not None:  # noqa: SLF001
            return transport._ws.get_extra_info("ssl_object") is not None  # noqa: SLF001
        return False
