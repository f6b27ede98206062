"""Random operations on three nodes while leaders move and servers restart and die in between.

The seed is in the name of each case; the failure prints what was done.
"""

import random
from typing import Final

import pytest
from support.nats.servers import APP, long_run
from support.signals.random_operations import STREAMS, Chance, broken_laws, prepared, start_of
from support.signals.replicated_workload import (
    VERSIONS,
    ReplicatedWorkload,
    Stage,
    stage,
    three_nodes,
)

OPERATIONS: Final = 120
BETWEEN_POLLS: Final = 10
BETWEEN_UPHEAVALS: Final = 20
# 2.9.10 keeps a consumer's leader for a minute and more when its stream has just moved.
MOVABLE: Final = [version for version in VERSIONS if version != "2.9.10"]
SEEDS: Final = range(1, 4) if long_run() else range(1, 2)


async def _upheaval(at: Stage, dice: random.Random, number: int) -> str:
    """Each kind in its turn, so that none is left to chance; to whom it happens is."""
    node = dice.choice(at.cluster.nodes).name
    work = dice.choice(at.works)
    consumer = dice.choice(list(work.ledgers))
    match number % 4:
        case 0:
            await at.move_leaders()
            return "all leaders moved"
        case 1:
            await at.leave(node)
            await at.cluster.stop(node)
            await work.publish(2)  # the others go on without it
            await at.cluster.restart(node)
            await at.cluster.settle()
            return f"{node} restarted"
        case 2:
            await at.cluster.step_down_stream(APP, work.stream)
            await at.cluster.step_down_consumer(APP, work.stream, consumer)
            return f"leaders of {work.stream} and {consumer} moved"
        case _:
            await at.leave(node)
            await at.cluster.kill(node)
            await work.publish(2)
            await at.cluster.restart(node)
            await at.cluster.settle()
            return f"{node} killed"


async def _live_through_it(at: Stage, chances: list[Chance], dice: random.Random) -> list[str]:
    done: list[str] = []
    for number in range(1, OPERATIONS + 1):
        await dice.choice(chances).act()
        if number % BETWEEN_UPHEAVALS == 0:
            await at.poll_until_true()
            done.append(await _upheaval(at, dice, number // BETWEEN_UPHEAVALS))
        if number % BETWEEN_POLLS == 0:
            await at.poll_until_true()
    return done


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("version", MOVABLE)
async def test_what_is_reported_of_a_random_workload_on_three_nodes_is_true(
    version: str, seed: int
) -> None:
    dice = random.Random(seed)
    async with three_nodes(version) as cluster, stage(cluster) as at:
        at.works += [ReplicatedWorkload(at.client, name) for name in STREAMS]
        chances = [await prepared(work, dice) for work in at.works]
        await at.poll_until_true()
        start = start_of(at.seen, at.ledgers)
        try:
            upheavals = await _live_through_it(at, chances, dice)
        except AssertionError:
            print("done:", *(f"{one.work.stream}: {one.done}\n" for one in chances))
            raise
        await at.poll_until_true()
        assert broken_laws(at.seen, at.works, start) == [], upheavals
        # Else this proved nothing.
        assert sum(one.redeliveries for one in at.ledgers) > 10
        assert sum(one.lost + one.purged for one in at.ledgers) > 0
        changes = [watch.of(one).leader_changes for watch in at.seen.all.values()
                   for one in at.ledgers]  # fmt: skip
        assert sum(changes) > 0
