"""Hundreds of random operations: what is reported is never above the truth, and equal where it is exact.

The seed is in the name of each case; the failure prints what was done.
"""

import random
from typing import Final

import pytest
from support.nats.servers import NatsServer, connected, long_run
from support.signals.ledger import Workload
from support.signals.observations import watches
from support.signals.random_operations import STREAMS, broken_laws, prepared, start_of

OPERATIONS: Final = 300
# Seeds 4 and 8: one message pending that is not there, one redelivered that was sent once.
MISCOUNTS: Final = "2.11.11"
SEEDS: Final = range(1, 9) if long_run() else range(1, 2)


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_is_reported_of_a_random_workload_is_true(
    nats_server: NatsServer, seed: int
) -> None:
    if nats_server.version == MISCOUNTS:
        pytest.skip("it counts a filtered consumer's messages wrongly: docs/signals.md")
    dice = random.Random(seed)
    async with connected(nats_server) as client, watches(nats_server) as seen:
        chances = [await prepared(Workload(client, name), dice) for name in STREAMS]
        ledgers = [one for chance in chances for one in chance.work.ledgers.values()]
        await seen.poll(*ledgers)
        start = start_of(seen, ledgers)
        for number in range(OPERATIONS):
            chance = dice.choice(chances)
            await chance.act()
            if number % 8 == 7:
                try:
                    await seen.poll(*ledgers)
                except AssertionError as error:
                    print("done:", *(f"{one.work.stream}: {one.done}\n" for one in chances))
                    raise AssertionError(f"seed {seed}, operation {number}") from error
        await seen.poll(*ledgers)
        works = [chance.work for chance in chances]
        assert broken_laws(seen, works, start) == []
        assert sum(one.redeliveries for one in ledgers) > 10  # else this proved nothing
        assert sum(one.lost + one.purged for one in ledgers) > 10
