"""Publishes to a stream that may be new."""

from __future__ import annotations

import json
from typing import Any, Final

from nats.aio.client import Client
from nats.errors import NoRespondersError
from support.waiting import until

_PATIENCE_SECONDS: Final = 20.0


async def publish(client: Client, subject: str, payload: bytes) -> Any:
    """The response of the stream, as soon as the node of the client knows it."""

    async def response() -> Any:
        try:
            reply = await client.request(subject, payload, timeout=_PATIENCE_SECONDS)
        except NoRespondersError:
            return None
        return json.loads(reply.data)

    return await until(response, bool, f"{subject} is not stored")
