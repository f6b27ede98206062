"""Faulty on purpose, on three nodes: the verdict names what is wrong, under any leader."""

from typing import Final

import pytest
from support.signals.faulty_workload import (
    INTERVAL_SECONDS,
    ROUNDS,
    SMALL_LIMITS,
    assert_each_has_its_name,
    fall_ill,
    live,
)
from support.signals.replicated_workload import VERSIONS, stage, three_nodes

MOVES: Final = (4, 9)  # before these rounds all leaders move


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
async def test_each_fault_keeps_its_name_while_leaders_move(version: str) -> None:
    async with three_nodes(version) as cluster, stage(cluster) as at:
        work, small = await at.stream("ORDERS"), await at.stream("SMALL", **SMALL_LIMITS)
        faulty = await fall_ill(cluster, work, small)
        for number in range(ROUNDS):
            if number in MOVES:
                await at.move_leaders()
            await live(work, small)
            at.seen.pass_time(INTERVAL_SECONDS)
            await at.seen.poll()
        for watch in at.seen.all.values():
            assert_each_has_its_name(watch, faulty)
            changes = [result.leader_changes for result in watch.signals.consumers.values()]
            assert sum(changes) >= len(faulty)  # else this proved nothing
