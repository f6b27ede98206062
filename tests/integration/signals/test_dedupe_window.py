"""Messages within the duplicate window: as many ids, at most, as the server still refuses."""

from nats.aio.client import Client
from support.exporter.source_polls import create_stream
from support.nats.servers import NatsServer, connected
from support.signals.ledger import MILLISECOND
from support.signals.observations import Watches, watches
from support.signals.publish_accounting import publish
from support.waiting import until


async def _refused(client: Client, subject: str, names: list[str]) -> int:
    """How many of these ids the server still knows; what it does not know it stores."""
    acks = [await _publish(client, subject, name) for name in names]
    return sum(bool(ack.get("duplicate")) for ack in acks)


async def _publish(client: Client, subject: str, name: str) -> dict[str, object]:
    (ack,) = await publish(client, subject, 1, Nats_Msg_Id=name)
    return ack


def _result(seen: Watches, stream: str) -> list[int | None]:
    return [
        watch.signals.streams["APP", stream].dedupe_window_messages for watch in seen.all.values()
    ]


async def test_ids_are_held_as_long_as_the_window_lasts(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        await create_stream(client, "SHORT", duplicate_window=1000 * MILLISECOND)
        await create_stream(client, "WIDE", duplicate_window=600_000 * MILLISECOND)
        await create_stream(client, "COPY", subjects=[], mirror={"name": "WIDE"})
        await seen.poll()
        assert (_result(seen, "SHORT"), _result(seen, "COPY")) == ([0] * 3, [None] * 3)
        early = [f"early-{number}" for number in range(6)]
        for stream in ("short", "wide"):
            assert await _refused(client, stream, early) == 0
        await seen.poll()
        assert _result(seen, "WIDE") == [6] * 3

        async def held() -> list[int | None]:
            await seen.poll()
            return _result(seen, "SHORT")

        # The window passes, for the exporter as for the server.
        await until(held, ([0] * 3).__eq__, "ids are held for ever")
        late = [f"late-{number}" for number in range(4)]
        for stream in ("short", "wide"):
            assert await _refused(client, stream, late) == 0
        await seen.poll()
        assert _result(seen, "WIDE") == [10] * 3
        # The truth is the server's own: all of these it refuses, and none of those.
        assert await _refused(client, "wide", early + late) == 10
        short = _result(seen, "SHORT")
        assert await _refused(client, "short", early) == 0
        assert short == [4] * 3


async def test_messages_without_an_id_have_none(nats_server: NatsServer) -> None:
    """What is exported is the number of messages: it does not claim that they have an id."""
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        await create_stream(client, "PLAIN", duplicate_window=600_000 * MILLISECOND)
        await publish(client, "plain", 5)
        await seen.poll()
        assert _result(seen, "PLAIN") == [5] * 3
        assert await _refused(client, "plain", [f"name-{number}" for number in range(5)]) == 0
