"""The listening socket: every connection begins as a quick one, and ends in order with the rest."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Final

from archive.http.connection import Handler, QuickConnection

_LOOK_SECONDS: Final = 2.0


class QuickListener:
    def __init__(self, desk: Handler, others: Callable[[], asyncio.Protocol]) -> None:
        self._desk = desk
        self._others = others
        self._open: set[QuickConnection] = set()
        self._server: asyncio.Server | None = None
        self._looking: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        """Raises OSError when the address cannot be had."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, host, port, ssl=context)
        self._looking = asyncio.create_task(self._look(), name="looking after connections")

    async def close(self, patience: float) -> None:
        """Nobody new comes in; requests under way have `patience` seconds to be answered."""
        if self._server is None or self._looking is None:
            return
        self._server.close()
        self._looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._looking
        responses = [each.answer for each in self._open if each.answer is not None]
        for each in list(self._open):
            each.stop()
        if responses:
            await asyncio.wait(responses, timeout=patience)
        for each in list(self._open):
            each.abort()

    def _connection(self) -> QuickConnection:
        return QuickConnection(self._desk, self._others, self._open)

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for each in list(self._open):
                each.look(loop.time())
