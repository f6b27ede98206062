"""A server whose clock is wrong, and an exporter that says by how much and is not misled by it.

The truth is the server itself: it runs on the clock of the test, and only its responses are moved.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest
from nats.aio.client import Client
from support.exporter.exposed_series import SOURCES, Exposed, Series, polled, polling
from support.exporter.misled_poller import polling_with
from support.exporter.source_polls import create_consumer, create_stream
from support.nats.clock_proxy import WrongClock
from support.nats.servers import NatsServer, connected

from exporter.model import Snapshot
from exporter.polling.loop import SystemPoller
from exporter.settings.config import SourceName

AHEAD: Final = 10
BEHIND: Final = -20
MAX_AGE_SECONDS: Final = 600
SECOND: Final = 1_000_000_000
# Moments are read to the microsecond, and 64 bits hold seconds since 1970 to a quarter of one.
ROUNDING: Final = 3e-6

each_source = pytest.mark.parametrize("source", SOURCES)
each_clock = pytest.mark.parametrize("seconds", [AHEAD, BEHIND], ids=["ahead", "behind"])

# What a clock has a part in, and how it changes while nothing happens but that time goes by:
# not at all, up or down.
MOMENTS: Final = {
    "stream_first_timestamp_seconds",
    "stream_last_timestamp_seconds",
    "consumer_last_delivery_timestamp_seconds",
    "consumer_last_ack_timestamp_seconds",
}
AGES: Final = {"consumer_lag_seconds", "stream_fill_ratio"}
TIMES_LEFT: Final = {"consumer_retention_headroom_seconds"}
OF_A_SERVER_ITSELF: Final = "server_start_timestamp_seconds"


@dataclass(frozen=True)
class Seen:
    """One poll: what was served, and of which moment it is."""

    exposed: Exposed
    snapshot: Snapshot

    @property
    def offset(self) -> float:
        return self._only("server_clock_offset_seconds")

    @property
    def uncertainty(self) -> float:
        return self._only("server_clock_uncertainty_seconds")

    def _only(self, name: str) -> float:
        (value,) = self.exposed.named(name).values()
        return value

    def moments(self) -> dict[Series, float]:
        """Everything that a clock has a part in, as the moment that it speaks of."""
        return dict(self._moments())

    def _moments(self) -> Iterator[tuple[Series, float]]:
        taken = self.snapshot.taken
        for (name, labels), value in self.exposed.samples.items():
            if name in MOMENTS or name == OF_A_SERVER_ITSELF:
                yield (name, labels), value
            elif name == "stream_fill_ratio" and ("limit", "age") in labels:
                yield (name, labels), taken - value * MAX_AGE_SECONDS
            elif name == "consumer_lag_seconds":
                yield (name, labels), taken - value
            elif name in TIMES_LEFT:
                yield (name, labels), taken + value


async def poll(poller: SystemPoller) -> Seen:
    exposed = await polled(poller)
    snapshot = poller.state.snapshot
    assert snapshot is not None
    assert snapshot.complete, snapshot.outcomes
    return Seen(exposed, snapshot)


async def fill(client: Client) -> None:
    """A stream with an age, and a consumer that is behind after deliveries and an ack."""
    await create_stream(client, "ORDERS", max_age=MAX_AGE_SECONDS * SECOND)
    await create_consumer(client, "ORDERS", "bill")
    jetstream = client.jetstream()
    for _ in range(5):
        await jetstream.publish("orders", b"x")
    puller = await jetstream.pull_subscribe_bind("bill", "ORDERS")
    first, _ = await puller.fetch(2)
    await first.ack_sync()


@each_source
async def test_the_offset_has_the_sign_and_size_of_the_fault_even_when_that_changes(
    nats_server: NatsServer, source: SourceName
) -> None:
    """After a clock was set, samples from before do not count, however short their way was."""
    clock = WrongClock(AHEAD)
    async with polling_with(clock, nats_server, source) as poller:
        ahead = await poll(poller)
        clock.ahead = BEHIND
        behind = await poll(poller)
    assert max(ahead.uncertainty, behind.uncertainty) < 1
    assert abs(ahead.offset - AHEAD) <= ahead.uncertainty + ROUNDING
    assert abs(behind.offset - BEHIND) <= behind.uncertainty + ROUNDING


@each_source
async def test_a_right_clock_has_no_offset_beyond_its_uncertainty(
    nats_server: NatsServer, source: SourceName
) -> None:
    async with polling(nats_server, source) as poller:
        found = await poll(poller)
    assert abs(found.offset) <= found.uncertainty + ROUNDING


@each_clock
@each_source
async def test_a_wrong_clock_moves_no_timestamp_and_no_age_in_the_results(
    nats_server: NatsServer, source: SourceName, seconds: int
) -> None:
    async with connected(nats_server) as client:
        await fill(client)
    async with (
        polling(nats_server, source) as directly,
        polling_with(WrongClock(seconds), nats_server, source) as misled,
    ):
        right, wrong = await poll(directly), await poll(misled)
    assert raw_shift(right, wrong) == seconds
    result = {name for name, _ in right.moments()} - {OF_A_SERVER_ITSELF}
    assert result == MOMENTS | AGES | TIMES_LEFT
    unsure = right.uncertainty + wrong.uncertainty + ROUNDING
    assert wrong.moments() == pytest.approx(right.moments(), rel=0, abs=unsure)


def raw_shift(right: Seen, wrong: Seen) -> float:
    """What would be reported without a correction; so the servers' responses did differ."""
    (ours,), (theirs,) = right.snapshot.streams, wrong.snapshot.streams
    assert ours.last_time is not None
    assert theirs.last_time is not None
    return (theirs.last_time - ours.last_time).total_seconds()
