"""The log cut at a random byte, again and again: what lies before the cut is there, once, in order."""

import random
from pathlib import Path

import pytest
from support.archive.wal_batches import batch, keep, records_of
from support.nats.servers import long_run

from archive.wal.recovery import read_series
from archive.wal.segments.reader import check_segment, read_segment
from archive.wal.segments.segment import HEADER_BYTES, segment_paths
from archive.wal.segments.tail_check import EndingKind

ROUNDS = 300 if long_run() else 30


def sender_ids(path: Path) -> list[int]:
    return [int(record.batch.sender) for record in read_segment(path)]


@pytest.mark.timeout(900 if long_run() else 60)
def test_a_torn_tail_costs_only_what_was_cut_off(tmp_path: Path) -> None:
    chance = random.Random(11)
    expected: list[int] = []
    number = 0
    for _ in range(ROUNDS):
        sent = range(number, number + chance.randint(1, 6))
        number = sent.stop
        keep(tmp_path, [batch([each % 50, each % 7], sender=str(each)) for each in sent])
        path = list(segment_paths(tmp_path).values())[-1]
        assert sender_ids(path) == list(sent)
        data = path.read_bytes()
        size = chance.randrange(HEADER_BYTES + 1, len(data) + 1)
        blank = bytes(chance.choice((0, 0, 5_000)))  # space that was allocated ahead
        path.write_bytes(data[:size] + blank)
        kept = sender_ids(path)
        assert kept == list(sent)[: len(kept)]
        assert check_segment(path).kind is not EndingKind.DAMAGED
        assert len(kept) == len(sent) or size < len(data)
        expected += kept
    assert [int(record.batch.sender) for record in records_of(tmp_path)] == expected
    assert 0 < len(expected) < number
    # Every series that a record uses has its labels, however often its definition was cut off.
    series = read_series(tmp_path)
    for record in records_of(tmp_path):
        for each in record.batch.series.tolist():
            assert series.definition(each).id == each
