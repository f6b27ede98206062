"""What lies in a stopped server's store, and ways to damage it as a crash or a bad restore would."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from nats.aio.client import Client
from support.nats.servers import NatsServer
from support.signals.publishing import publish

# A quarter of this is less than the smallest block: servers then make blocks of 32,000 bytes.
MAX_BYTES: Final = 120_000
PAYLOAD: Final = 2_000
# Of a message without headers: length, sequence, time, length of the subject; and a checksum.
_AROUND_A_MESSAGE: Final = 22 + 8


async def fill_blocks(client: Client, subject: str, count: int) -> None:
    """All of the same size, so that a block's size shows how many are in it."""
    for _ in range(count):
        await publish(client, subject, b"x" * PAYLOAD)


def messages_in(block: Path, subject: str) -> int:
    whole, rest = divmod(block.stat().st_size, _AROUND_A_MESSAGE + len(subject) + PAYLOAD)
    assert rest == 0, f"{block}: not {whole} messages of the same size"
    return whole


async def while_stopped(server: NatsServer, act: Callable[[Path], Any]) -> Any:
    """Stops it, does that to its folder of JetStream, and starts it again."""
    await server.stop()
    assert server._folder is not None
    found = await asyncio.to_thread(act, server._folder / "store" / "jetstream")
    await server.restart()
    return found


def stream_folder(store: Path, stream: str, account: str = "APP") -> Path:
    return store / account / "streams" / stream


def blocks_of(stream: Path) -> list[Path]:
    """Oldest first."""
    return sorted((stream / "msgs").glob("*.blk"), key=lambda path: int(path.stem))


def delete_block(stream: Path, block: Path) -> None:
    """With what the server knows of it besides: else it would miss it."""
    for beside in (stream / "msgs").glob(f"{block.stem}.*"):
        beside.unlink()
    for index in ("index.db", "thw.db", "sched.db"):
        (stream / "msgs" / index).unlink(missing_ok=True)


def put_back(kept: Path, place: Path) -> None:
    shutil.rmtree(place)
    shutil.copytree(kept, place)


def forget_stream(store: Path, stream: str) -> None:
    """All that this node ever had of it, its part in the group's log included."""
    shutil.rmtree(stream_folder(store, stream))
    for group in (store / "SYS" / "_js_").glob("S-*"):
        shutil.rmtree(group)
