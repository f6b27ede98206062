"""Waits until a child with an HTTP port is ready."""

import asyncio
from typing import Final

import aiohttp

from streamgauge.demo.processes.child import Child

START_DEADLINE_SECONDS: Final = 60.0


async def wait_until_ready(child: Child, url: str) -> None:
    """Returns when the URL responds with 200; raises ChildError when the child ends or times out."""
    try:
        async with asyncio.timeout(START_DEADLINE_SECONDS):
            while await _status(url) != 200:
                if not child.running:
                    raise await child.failure(
                        f"ended at start with exit code {await child.ended()}"
                    )
                await asyncio.sleep(0.05)
    except TimeoutError as error:
        raise await child.failure(f"is not ready after {START_DEADLINE_SECONDS:.0f} s") from error


async def _status(url: str) -> int | None:
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return response.status
    except (aiohttp.ClientError, ConnectionError):
        return None
