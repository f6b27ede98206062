"""A server whose clock is an hour off: lags, losses, verdicts and since when stay right."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import pytest
from support.exporter.exposed_series import SOURCES, polling
from support.exporter.misled_poller import polling_with
from support.nats.clock_proxy import WrongClock
from support.nats.servers import NatsServer, connected
from support.signals.faulty_workload import assert_each_has_its_name, fall_ill_and_live
from support.signals.ledger import MILLISECOND, SECOND, Workload
from support.signals.observations import Supervisor, Watches

from exporter.settings.config import SourceName

HOUR: Final = 3600
# Both exporters poll one after the other, on a busy machine.
TOLERANCE_SECONDS: Final = 2.0

each_source = pytest.mark.parametrize("source", SOURCES)
each_clock = pytest.mark.parametrize("seconds", [HOUR, -HOUR], ids=["ahead", "behind"])


@asynccontextmanager
async def both(server: NatsServer, source: SourceName, seconds: int) -> AsyncIterator[Watches]:
    """One that sees the right clock, and one that sees the wrong one."""
    async with (
        polling(server, source) as directly,
        polling_with(WrongClock(seconds), server, source) as misled,
    ):
        yield Watches({"right": Supervisor(directly.source), "wrong": Supervisor(misled.source)})


@each_clock
@each_source
async def test_lags_and_losses_are_those_of_the_servers_own_clock(
    nats_server: NatsServer, source: SourceName, seconds: int
) -> None:
    async with connected(nats_server) as client, both(nats_server, source, seconds) as seen:
        kept, aged = Workload(client, "KEPT"), Workload(client, "AGED")
        await kept.create(max_age=HOUR * SECOND)
        await aged.create(max_age=1200 * MILLISECOND, duplicate_window=100 * MILLISECOND)
        lagging = await kept.consumer("lagging")
        late = await aged.consumer("late")
        await seen.poll(lagging, late)
        before = time.time()
        await kept.publish(1)
        await aged.publish(3)
        await seen.poll(lagging, late)
        await aged.until_expired()
        await seen.poll(lagging, late)
        age = time.time() - before
        for name, watch in seen.all.items():
            assert watch.of(lagging).lag == pytest.approx(age, abs=TOLERANCE_SECONDS), name
            assert watch.of(lagging).headroom_seconds == pytest.approx(
                HOUR - age, abs=TOLERANCE_SECONDS
            ), name
            assert (watch.of(late).lost, watch.of(late).purged) == (3, 0), name
        await kept.purge()
        await seen.poll(lagging, late)
        for name, watch in seen.all.items():
            assert (watch.of(lagging).lost, watch.of(lagging).purged) == (0, 1), name


@each_clock
@each_source
async def test_verdicts_and_conditions_are_the_same_and_began_at_the_same_time(
    nats_server: NatsServer, source: SourceName, seconds: int
) -> None:
    async with connected(nats_server) as client, both(nats_server, source, seconds) as seen:
        faulty = await fall_ill_and_live(nats_server, client, seen)
        right, wrong = seen.all["right"], seen.all["wrong"]
        for watch in (right, wrong):
            assert_each_has_its_name(watch, faulty)
        for key, result in right.signals.consumers.items():
            misled = wrong.signals.consumers[key]
            assert misled.verdict == result.verdict, key
            assert _times(misled) == pytest.approx(_times(result), abs=TOLERANCE_SECONDS), key


def _times(result: object) -> dict[str, float | None]:
    """What the clock of a server has a part in."""
    ages = ("verdict_since", "lag", "headroom_seconds", "stalled", "floor_stalled")
    conditions: dict[str, float | None] = dict(result.conditions)
    return {name: getattr(result, name) for name in ages} | conditions
