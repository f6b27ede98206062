"""A stream saved and restored through the JetStream API, its consumers with it."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg

_PATIENCE_SECONDS: Final = 20.0


@dataclass(frozen=True)
class Saved:
    config: dict[str, Any]
    state: dict[str, Any]
    chunks: list[bytes]


async def save_stream(client: Client, stream: str) -> Saved:
    """Only of a stream in files."""
    inbox, arrived = client.new_inbox(), asyncio.Queue[Msg]()
    subscription = await client.subscribe(inbox, cb=arrived.put)
    saved = await _request(client, f"$JS.API.STREAM.SNAPSHOT.{stream}", deliver_subject=inbox)
    chunks = []
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while (message := await arrived.get()).data:  # an empty one is the end
            chunks.append(message.data)
            if message.reply:
                await message.respond(b"")
    await subscription.unsubscribe()
    return Saved(saved["config"], saved["state"], chunks)


async def restore_stream(client: Client, saved: Saved) -> None:
    """The name must be free."""
    subject = f"$JS.API.STREAM.RESTORE.{saved.config['name']}"
    started = await _request(client, subject, config=saved.config, state=saved.state)
    for chunk in saved.chunks:
        await client.request(started["deliver_subject"], chunk, timeout=_PATIENCE_SECONDS)
    await _request(client, started["deliver_subject"])


async def _request(client: Client, subject: str, **request: Any) -> Any:
    payload = json.dumps(request).encode() if request else b""
    response = json.loads((await client.request(subject, payload, timeout=_PATIENCE_SECONDS)).data)
    assert "error" not in response, (subject, response["error"])
    return response
