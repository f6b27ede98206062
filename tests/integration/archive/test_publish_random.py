"""Any order of sending, publishing and compacting leaves the same archive: that of the truth."""

import math
import random
import struct
from pathlib import Path

import pytest
from support.archive.folder import (
    DAY,
    HOUR,
    MONDAY,
    STALE,
    ArchiveFolder,
    Reported,
    Truth,
    truth_of,
)
from support.nats.servers import long_run

from archive.tools.cli import main

SEEDS = range(40 if long_run() else 3)
NAMES = ["c_total/a", "c_total/b", "lag/a", "up/a", "zz/a"]
LOOKBACK = 24 * HOUR
HOURS = [0, 1, 2, 7, 23, 24, 25, 26, 40, 47, 48, 49, 71]  # neighbours, gaps, and ends of days


def drawn(chance: random.Random, size: int) -> list[Reported]:
    """Over three days, some of it twice, with another value, or as a marker."""
    reported: list[Reported] = []
    for _ in range(size):
        time = MONDAY + chance.choice(HOURS) * HOUR + chance.randrange(6) * 600_000
        value: float | int = chance.choice([float(chance.randrange(50)), chance.random(), STALE])
        reported.append((chance.choice(NAMES), time, value))
    return reported


def expected_increase(truth: Truth) -> dict[tuple[str, int], tuple[int, float, int]]:
    """Count, increase and resets of every hour, from the samples alone."""
    found = {}
    for name, samples in truth.items():
        numbers = [(at, value_of(bits)) for at, bits in samples.items() if bits != STALE]
        for hour in {at - at % HOUR for at in samples}:
            inside = [value for at, value in numbers if hour <= at < hour + HOUR]
            before = [value for at, value in numbers if hour - LOOKBACK <= at < hour]
            steps, resets = 0.0, 0
            for previous, value in zip([*before[-1:], *inside], inside[not before :], strict=False):
                steps += value if value < previous else value - previous
                resets += value < previous
            found[name, hour] = len(inside), steps, resets
    return found


def value_of(bits: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    return float(value)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_history_ends_in_the_truth(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    reported: list[Reported] = []
    with ArchiveFolder(tmp_path) as folder:
        for _ in range(12):
            new = drawn(chance, chance.randrange(1, 40))
            reported += new
            folder.send(new)
            step = chance.randrange(4)
            if step == 0:
                folder.publish_due(MONDAY + chance.randrange(5 * 24) * HOUR)
            elif step == 1:
                folder.publish_all(MONDAY + 5 * DAY)
            elif step == 2:
                folder.close()
                folder.open()
        folder.publish_all(MONDAY + 6 * DAY)
        folder.publish_due(MONDAY + 6 * DAY)
        truth = truth_of(reported)
        assert folder.samples() == truth
        expected = expected_increase(truth)
        hourly = folder.hourly()
        assert set(hourly) == set(expected)
        for key, (count, increase, resets) in expected.items():
            row = hourly[key]
            assert (row["count"], row["resets"]) == (count, resets), key
            if count:
                assert math.isclose(row["increase"], increase, abs_tol=1e-9), key
        snapshot = folder.snapshot
        assert all(len(snapshot.of_day("samples", day)) == 1 for day in snapshot.days)
    assert main(["verify", str(tmp_path)]) == 0
    assert "no fault" in capsys.readouterr().out
