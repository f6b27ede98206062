"""Series without samples are forgotten: in memory, in the caches and in the log's series table."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.archive.wal_batches import EAGER, HOUR, NOON, batch
from support.nats.servers import long_run
from support.remote_write import messages as rw

from archive.batch import Batch
from archive.remote_write.decoder import Decoder, Version
from archive.series.idle import IdleSeries, idle_seconds
from archive.series.table import SeriesTable
from archive.settings.limits import Limits
from archive.settings.publishing import RetentionSettings
from archive.wal.recovery import read_series
from archive.wal.series_checkpoint import NAMES
from archive.wal.write_ahead_log import Wal

DAY = 24 * HOUR
ONE_DAY = RetentionSettings(series=86_400)
NEW_A_DAY = 100_000 if long_run() else 2_000
STABLE = 500


def labels_of(name: str) -> tuple[tuple[str, str], ...]:
    return (("__name__", "up"), ("consumer", name), ("stream", "ORDERS"))


class Log:
    """A log whose requests are published at once."""

    def __init__(self, folder: Path) -> None:
        self.wal = Wal.open(folder, EAGER)

    async def receive(self, names: Sequence[str], now: int) -> list[int]:
        ids = [self.wal.series.identify(labels_of(name)) for name in names]
        self.wal.series.last_seen.mark(np.array(ids), now)
        await self.wal.append((), batch(ids, received=now))
        return ids

    def publish(self) -> None:
        self.wal.seal()
        self.wal.remove(self.wal.sealed_segments())


async def forget_by_the_hour(idle: IdleSeries, first: int, last: int) -> None:
    for now in range(first, last + 1, HOUR):
        await asyncio.to_thread(idle.forget, now)


@pytest.mark.timeout(900)  # three million series in the long run
def test_a_month_of_new_series_every_day_keeps_memory_flat(tmp_path: Path) -> None:
    async def month() -> tuple[list[int], list[int]]:
        log = await asyncio.to_thread(Log, tmp_path)
        idle = IdleSeries(log.wal, ONE_DAY, lambda: None)
        stable = [f"stable-{number}" for number in range(STABLE)]
        sizes, files, highest = [], [], -1
        for day in range(30):
            now = NOON + day * DAY
            idle.forget(now)
            fresh = [f"worker-{day}-{number}" for number in range(NEW_A_DAY)]
            added = (await log.receive([*stable, *fresh], now + 3 * HOUR))[STABLE:]
            assert min(added) > highest  # never an id again
            highest = max(added)
            del fresh, added
            await asyncio.to_thread(log.publish)
            await asyncio.to_thread(idle.forget, now + 4 * HOUR)
            sizes.append(tracemalloc.get_traced_memory()[0])
            files.append((tmp_path / NAMES[0]).stat().st_size)
        assert log.wal.series.known <= STABLE + 2 * NEW_A_DAY
        assert len(log.wal.series) == STABLE + 30 * NEW_A_DAY
        await log.wal.close()
        return sizes, files

    tracemalloc.start()
    try:
        sizes, files = asyncio.run(month())
    finally:
        tracemalloc.stop()
    assert max(sizes[20:]) < 1.2 * max(sizes[3:10])
    assert max(files[20:]) < 1.2 * max(files[3:10])
    assert read_series(tmp_path).known <= STABLE + 2 * NEW_A_DAY


async def test_a_series_that_comes_again_gets_a_new_id_and_the_others_keep_theirs(
    tmp_path: Path,
) -> None:
    log = await asyncio.to_thread(Log, tmp_path)
    idle = IdleSeries(log.wal, ONE_DAY, lambda: None)
    await forget_by_the_hour(idle, NOON, NOON + DAY)
    assert await log.receive(["gone", "kept"], NOON + HOUR) == [0, 1]
    assert await log.receive(["kept"], NOON + DAY) == [1]
    await asyncio.to_thread(log.publish)
    await asyncio.to_thread(idle.forget, NOON + DAY + 2 * HOUR)
    assert idle.forgotten == 1
    with pytest.raises(KeyError):
        log.wal.series.definition(0)
    assert [each.id for each in await asyncio.to_thread(read_series, tmp_path)] == [1]
    assert await log.receive(["kept", "gone"], NOON + DAY + 2 * HOUR) == [1, 2]
    assert log.wal.series.definition(2).labels == labels_of("gone")
    await log.wal.close()
    found = await asyncio.to_thread(read_series, tmp_path)
    assert {each.id: each.labels for each in found} == {
        1: labels_of("kept"),
        2: labels_of("gone"),
    }


async def test_a_series_in_the_log_is_not_forgotten(tmp_path: Path) -> None:
    log = await asyncio.to_thread(Log, tmp_path)
    idle = IdleSeries(log.wal, ONE_DAY, lambda: None)
    idle.forget(NOON)
    await log.receive(["waits"], NOON + HOUR)
    await forget_by_the_hour(idle, NOON, NOON + 9 * DAY)
    assert idle.forgotten == 0
    await asyncio.to_thread(log.publish)
    await asyncio.to_thread(idle.forget, NOON + 9 * DAY)
    assert idle.forgotten == 1
    await log.wal.close()


async def test_times_survive_a_restart_and_live_series_have_two_hours(tmp_path: Path) -> None:
    log = await asyncio.to_thread(Log, tmp_path)
    await log.receive(["gone", "kept"], NOON)
    await asyncio.to_thread(log.publish)
    await asyncio.to_thread(log.wal.forget, [])  # as once a day
    await log.wal.close()
    log = await asyncio.to_thread(Log, tmp_path)
    idle = IdleSeries(log.wal, ONE_DAY, lambda: None)
    for hour in (0, 1):
        await asyncio.to_thread(idle.forget, NOON + 2 * DAY + hour * HOUR)
        assert idle.forgotten == 0
    await log.receive(["kept"], NOON + 2 * DAY + HOUR)
    await asyncio.to_thread(log.publish)
    await asyncio.to_thread(idle.forget, NOON + 2 * DAY + 2 * HOUR)
    assert idle.forgotten == 1
    assert [each.labels for each in log.wal.series] == [labels_of("kept")]
    await log.wal.close()


@pytest.mark.parametrize("jump", [2 * DAY, 400 * DAY])
async def test_a_clock_set_forward_makes_no_live_series_idle(tmp_path: Path, jump: int) -> None:
    log = await asyncio.to_thread(Log, tmp_path)
    idle = IdleSeries(log.wal, ONE_DAY, lambda: None)
    await log.receive(["kept"], NOON)
    await asyncio.to_thread(log.publish)
    await forget_by_the_hour(idle, NOON, NOON + 3 * HOUR)
    await asyncio.to_thread(idle.forget, NOON + 3 * HOUR + jump)
    assert idle.forgotten == 0
    await log.receive(["kept"], NOON + 4 * HOUR + jump)
    await asyncio.to_thread(log.publish)
    await forget_by_the_hour(idle, NOON + 4 * HOUR + jump, NOON + 8 * HOUR + jump)
    assert idle.forgotten == 0
    await log.wal.close()


async def test_idle_series_are_forgotten_when_the_clock_is_set_forward_and_back(
    tmp_path: Path,
) -> None:
    log = await asyncio.to_thread(Log, tmp_path)
    idle = IdleSeries(log.wal, ONE_DAY, lambda: None)
    jump = 400 * DAY
    await log.receive(["gone"], NOON + jump)
    await asyncio.to_thread(log.publish)
    await forget_by_the_hour(idle, NOON + jump, NOON + jump + 3 * HOUR)
    await log.receive(["kept"], NOON + 4 * HOUR)
    await asyncio.to_thread(log.publish)
    await forget_by_the_hour(idle, NOON + 4 * HOUR, NOON + 27 * HOUR)
    await log.receive(["kept"], NOON + 27 * HOUR)
    await asyncio.to_thread(log.publish)
    assert idle.forgotten == 0
    await forget_by_the_hour(idle, NOON + 28 * HOUR, NOON + 32 * HOUR)
    assert idle.forgotten == 1
    assert [each.labels for each in log.wal.series] == [labels_of("kept")]
    await log.wal.close()


@pytest.mark.parametrize("version", list(Version))
def test_the_decoder_finds_the_right_series_after_others_were_forgotten(version: Version) -> None:
    table = SeriesTable()
    decoder = Decoder(Limits(), "__replica__", table)
    encode = rw.request_v1 if version is Version.V1 else rw.request_v2

    def decode(prefix: str, now: int) -> Batch:
        series = [
            rw.Series([("__name__", name), ("consumer", f"{prefix}-{each}"), ("zone", prefix)],
                      [rw.sample(1, now)])
            for each in range(5)
            for name in ("a", "b", "c")
        ]  # fmt: skip
        return decoder.decode(version, rw.compressed(encode(*series)), "x", now).batch

    decode("old", NOON)
    decode("stays", NOON)
    later = NOON + 9 * DAY
    kept = decode("stays", later).series.tolist()
    decoder.forget_unused(later)
    decoder.forget_series()
    table.forget([series for series in range(len(table)) if series not in kept])
    for prefix in ("new", "stays", "old", "new"):
        found = [table.definition(each) for each in decode(prefix, later).series.tolist()]
        assert {dict(each.labels)["zone"] for each in found} == {prefix}
        assert len({each.labels for each in found}) == 15
    assert decode("stays", later).series.tolist() == kept


def test_native_histograms_keep_their_series_alive() -> None:
    table = SeriesTable()
    decoder = Decoder(Limits(), "", table)
    series = rw.Series([("__name__", "h")], histograms=[rw.Histogram(NOON)])
    decoder.decode(Version.V2, rw.compressed(rw.request_v2(series)), "x", NOON)
    assert table.last_seen.of(np.array([0])).tolist() == [NOON]


def test_the_time_is_that_of_the_samples_unless_set() -> None:
    assert idle_seconds(RetentionSettings(series=86_400, age=172_800)) == 86_400
    assert idle_seconds(RetentionSettings(age=172_800)) == 172_800
    assert idle_seconds(RetentionSettings()) == 7 * 86_400
