"""The whole way without Spark: a real archive in, tables out, held to a plain-Python oracle."""

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from support.nats.servers import long_run
from support.rollups.archive import DAY, HOUR, RollupArchive, Sample, rows_of
from support.rollups.generated_samples import generated_days
from support.rollups.oracle import Oracle, differences, order

from spark_rollups.jobs.rollup import rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.jobs.worker_tasks import LocalRunner
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.reader import Rollups, open_rollups

pytestmark = pytest.mark.slow

EVER = date(2000, 1, 1), date(2100, 1, 1)
# The nights in which clocks are put back and forward in Europe, and ends of months and of a year.
STARTS = {
    "the clocks go back": datetime(2026, 10, 24, tzinfo=UTC),
    "the clocks go forward": datetime(2026, 3, 28, tzinfo=UTC),
    "February ends in a leap year": datetime(2028, 2, 28, tzinfo=UTC),
    "the year ends": datetime(2026, 12, 30, tzinfo=UTC),
}
SEEDS = range(8) if long_run() else range(1)


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Days are those of UTC wherever the program runs."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def rolled(folder: Path, *, from_raw: bool) -> Rollups:
    out = folder / f"out-{from_raw}"
    rollup(
        RollupSettings(str(folder / "archive"), str(out), from_raw=from_raw),
        LocalRunner,
        SilentProgress(),
    )
    return open_rollups(str(out))


def wrong(rollups: Rollups, samples: list[Sample]) -> list[str]:
    oracle = Oracle(samples)
    found = []
    for name in ("daily", "hourly", "shares", "quantiles"):
        rows = sorted(rows_of(rollups.table(name, *EVER)), key=order)
        assert rows, name
        found += [f"{name} {each}" for each in differences(rows, getattr(oracle, name)())]
    return found


@pytest.mark.usefixtures("in_berlin")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("when", STARTS)
def test_tables_from_statistics_and_from_samples_equal_the_oracle(
    when: str, seed: int, tmp_path: Path
) -> None:
    start = round(STARTS[when].timestamp() * 1000)
    samples = generated_days(seed, start, 3)
    RollupArchive(tmp_path / "archive").add(samples, now=start + 10 * DAY)
    assert wrong(rolled(tmp_path, from_raw=False), samples) == []
    assert wrong(rolled(tmp_path, from_raw=True), samples) == []


def test_an_open_day_of_single_hours_and_late_samples_equals_the_oracle(tmp_path: Path) -> None:
    """Files of single hours, one of them rewritten for late samples."""
    start = round(STARTS["the year ends"].timestamp() * 1000)
    samples = generated_days(99, start, 2)
    late = [each for each in samples if start + 5 * HOUR <= each[1] < start + 30 * HOUR][::3]
    timely = [each for each in samples if each not in late]
    archive = RollupArchive(tmp_path / "archive")
    archive.add(timely, now=start + 2 * DAY, whole=False)
    rolled(tmp_path, from_raw=False)
    archive.add(late, now=start + 2 * DAY, whole=False)
    assert wrong(rolled(tmp_path, from_raw=False), timely + late) == []
    assert wrong(rolled(tmp_path, from_raw=True), timely + late) == []
