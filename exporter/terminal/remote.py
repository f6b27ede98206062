"""Reads the report of a running exporter over HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import aiohttp
import msgspec

from exporter.errors import RequestError
from exporter.pages.status.report import UnwellReport
from exporter.pages.status.unwell import PATH
from exporter.settings.config import SystemSettings
from exporter.sources.transport.credentials import without_secrets
from streamgauge.serving.settings.loader import read_secret

_TIMEOUT = aiohttp.ClientTimeout(total=10)
LARGEST = 4 * 1024**2
_decode = msgspec.json.Decoder(UnwellReport).decode


@dataclass(frozen=True, slots=True)
class RemoteExporter:
    """Login and TLS come from the same flags as those of a NATS system."""

    url: str
    system: SystemSettings

    async def report(self) -> UnwellReport:
        """Raises RequestError."""
        shown = without_secrets(self.url)
        try:
            body = await self._body()
            return _decode(body)
        except aiohttp.ClientResponseError as error:
            raise RequestError("http_status", f"{shown}: {error.status} {error.message}") from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise RequestError("connection", f"{shown}: {error!s}") from error
        except (msgspec.DecodeError, ValueError) as error:
            raise RequestError("malformed", f"{shown}: is no exporter of this version") from error

    async def _body(self) -> bytes:
        tls = self.system.tls
        context = await asyncio.to_thread(tls.access().context) if tls else True
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, auth=await self._login()) as session,
            session.get(
                self.url.rstrip("/") + PATH,
                ssl=context,
                allow_redirects=False,
                raise_for_status=True,
            ) as response,
        ):
            return await _whole(response.content)

    async def _login(self) -> aiohttp.BasicAuth | None:
        system = self.system
        if not system.user:
            return None
        if system.password_file is not None:
            return aiohttp.BasicAuth(
                system.user, await asyncio.to_thread(read_secret, system.password_file)
            )
        return aiohttp.BasicAuth(system.user, system.password.reveal() if system.password else "")


async def _whole(content: aiohttp.StreamReader) -> bytes:
    body = bytearray()
    async for chunk in content.iter_any():
        body += chunk
        if len(body) > LARGEST:
            raise aiohttp.ClientPayloadError(f"its report is longer than {LARGEST:,} bytes")
    return bytes(body)
