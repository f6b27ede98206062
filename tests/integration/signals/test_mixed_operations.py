"""Random operations of every kind, polled as in real use: no bound is broken, no loss false or missed.

The seed is in the name of each case; a failure prints what was done and the rows of the last polls.
What no poll can tell from limits is in `Track`: then the truth is a range too.
"""

import random
from typing import Final

import pytest
from support.nats.servers import NEWEST, OLDEST, NatsServer, connected, default_options, long_run
from support.signals.known_workload import PAUSES_SINCE, version_of
from support.signals.mixed.bounds import gauges
from support.signals.mixed.plan import Plan

VERSIONS: Final = (OLDEST, "2.11.11", NEWEST) if long_run() else (NEWEST,)
SEEDS: Final = range(1, 21) if long_run() else range(1, 4)
OPERATIONS: Final = 500 if long_run() else 250
STREAMS: Final = 3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("version", VERSIONS)
async def test_the_truth_of_mixed_operations_is_within_the_bounds(version: str, seed: int) -> None:
    async with (
        NatsServer(version, default_options()) as server,
        connected(server) as client,
        gauges(server, exact_lag=True) as exporters,
    ):
        can_pause = version_of(server) >= PAUSES_SINCE
        plan = Plan(client, random.Random(seed), exporters, can_pause)
        await plan.prepare(STREAMS)
        await plan.run(OPERATIONS)
        assert await plan.disagreements() == [], "the ledger is wrong"
        for one in exporters:
            print(f"{version} seed {seed} {one.width()}")
        faults = [fault for one in exporters for fault in one.faults]
        assert not faults, "\n".join([*faults, *map(str, enumerate(plan.done, 1))])
        # Else this proved nothing.
        assert sum(work.truth.redeliveries for work in plan.works) > 0
