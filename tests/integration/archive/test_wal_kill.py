"""Killed at any moment, again and again: whatever the log acknowledged is there, once, in order."""

import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.archive.wal_batches import definition, labels, records_of
from support.nats.servers import long_run

from archive.wal.recovery import read_series
from archive.wal.segments.reader import check_segment
from archive.wal.segments.segment import segment_paths
from archive.wal.segments.tail_check import EndingKind

ROUNDS = 300 if long_run() else 10
# Four requests are always on their way; every one brings a new series.
WRITER = """
import asyncio, sys
from pathlib import Path
import numpy as np
from support.archive.wal_batches import batch, labels
from archive.wal.write_ahead_log import Wal
from archive.settings.wal import WalSettings

async def main(folder, number):
    wal = Wal.open(folder, WalSettings(reserve=0, segment_size=20_000))

    async def append():
        nonlocal number
        while True:
            mine, number = number, number + 1
            series = [wal.series.identify(labels(each)) for each in (mine, mine // 2, 0)]
            values = [float(mine), mine / 3, -float(mine)]
            await wal.append((), batch(series, values=values, sender=str(mine)))
            print("kept", mine, flush=True)

    await asyncio.gather(*(append() for _ in range(4)))

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


def killed_round(folder: Path, first: int, after: int) -> list[int]:
    """The numbers that a writer acknowledged before and while it was killed."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    with writer:
        assert writer.stdout is not None
        head = [writer.stdout.readline() for _ in range(after)]
        writer.send_signal(signal.SIGKILL)
        output = "".join(head) + writer.stdout.read()
    return [int(number) for number in re.findall(r"^kept (\d+)$", output, re.MULTILINE)]


@pytest.mark.timeout(1800 if long_run() else 180)
def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged: list[int] = []
    first = 0
    for _ in range(ROUNDS):
        output = killed_round(tmp_path, first, chance.randint(1, 200))
        assert output
        acknowledged += output
        first = max(output) + 1_000  # no number twice, not even of what was never acknowledged
    found = [record.batch for record in records_of(tmp_path)]
    numbers = [int(batch.sender) for batch in found]
    assert len(set(numbers)) == len(numbers)
    assert set(acknowledged) <= set(numbers)
    assert len(numbers) - len(acknowledged) <= 4 * ROUNDS
    series = read_series(tmp_path)
    for number, batch in zip(numbers, found, strict=True):
        named = [series.definition(int(each)).labels for each in batch.series]
        assert named == [labels(number), labels(number // 2), labels(0)]
        assert batch.values.view("f8").tolist() == [float(number), number / 3, -float(number)]
    endings = [check_segment(path).kind for path in segment_paths(tmp_path).values()]
    assert EndingKind.DAMAGED not in endings


def test_definitions_survive_the_kill_that_follows_their_first_use(tmp_path: Path) -> None:
    killed_round(tmp_path, 0, 1)
    series = read_series(tmp_path)
    assert series.definition(0).labels == definition(0).labels
