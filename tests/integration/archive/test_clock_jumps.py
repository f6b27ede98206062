"""A clock that jumps: each sample is published exactly once, and none is deleted before its time."""

from pathlib import Path

import pytest
from support.archive.folder import DAY, HOUR, MONDAY, ArchiveFolder, Reported, truth_of

from archive.settings.publishing import PublishSettings, RetentionSettings
from archive.tables.delta_log import DeltaLog
from archive.tables.schema import TABLES

MINUTE = 60_000


@pytest.mark.parametrize("jump", [-3 * DAY, -DAY, -HOUR, -MINUTE, MINUTE, HOUR, DAY, 400 * DAY])
def test_a_jump_loses_and_doubles_nothing(tmp_path: Path, jump: int) -> None:
    sent: list[Reported] = []
    with ArchiveFolder(tmp_path) as folder:
        for minute in range(180):
            at = MONDAY + minute * MINUTE
            is_wrong = 60 <= minute < 120
            clock = at + jump if is_wrong else at
            reported: list[Reported] = [("up", at, float(minute)), ("down", at, -float(minute))]
            folder.send(reported, received=clock)
            sent += reported
            if minute % 10 == 9:
                folder.publish_due(clock)
        folder.publish_due(MONDAY + 4 * HOUR)
        folder.publish_all()
        assert folder.samples() == truth_of(sent)


AGE = 10 * DAY
WITH_AGE = PublishSettings(retention=RetentionSettings(age=AGE / 1000))


def days_of(count: int, first: int = 0) -> list[Reported]:
    return [("up", MONDAY + day * DAY, float(day)) for day in range(first, first + count)]


@pytest.mark.parametrize("jump", [-400 * DAY, 20 * DAY, 400 * DAY])
@pytest.mark.parametrize("hours", [0, 30])
def test_a_jump_deletes_only_what_is_old_without_it(tmp_path: Path, jump: int, hours: int) -> None:
    """`hours`: how long the sender, on the same host, has the wrong time too."""
    kept = days_of(8)
    with ArchiveFolder(tmp_path, WITH_AGE) as folder:
        folder.send(kept)
        folder.publish_all()
        now = MONDAY + 7 * DAY + HOUR
        assert folder.publish_due(now).deleted == 0
        for hour in range(hours):
            wrong = [("up", now + jump + hour * HOUR, 0.5)]
            folder.send(wrong, received=now + jump)
            kept += wrong
            folder.publish_due(now + jump + (hour + 1) * HOUR)
        for hour in range(hours, hours + 5):
            folder.publish_due(now + jump + hour * HOUR)
        assert folder.samples() == truth_of(kept)
        # The clock is right again, and days that are really old go.
        for sample in days_of(9, first=8):
            folder.send([sample], received=sample[1])
            folder.publish_due(sample[1] + 3 * HOUR)
        old = MONDAY + 16 * DAY - AGE - DAY
        found = folder.samples()["up/a"]
        assert {time for time in found if MONDAY <= time < old} == set()
        assert found.items() >= truth_of(days_of(10, first=7))["up/a"].items()


def test_a_jump_with_data_of_three_days_is_believed(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path, WITH_AGE) as folder:
        folder.send(days_of(3))
        later = [("up", MONDAY + (400 + day) * DAY, 1.0) for day in range(3)]
        for number, each in enumerate(later):
            folder.send([each])
            folder.publish_all()
            assert folder.publish_due(each[1] + HOUR).deleted == (3 if number == 2 else 0)
        assert folder.samples() == truth_of(later)


def test_vacuum_and_log_clean_up_wait_for_the_data_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tended: list[str] = []
    for work in ("checkpoint", "vacuum", "drop_old_versions"):
        monkeypatch.setattr(DeltaLog, work, lambda *_, work=work: tended.append(work) or [])
    caplog.set_level("INFO")
    with ArchiveFolder(tmp_path) as folder:

        def tended_at(now: int) -> int:
            tended.clear()
            folder.publish_due(now)
            return tended.count("vacuum")

        folder.send(days_of(3))
        now = MONDAY + 2 * DAY + 3 * HOUR
        assert tended_at(now) == len(TABLES)
        assert folder.publisher.clock_ahead == 0
        assert tended_at(now + 400 * DAY) == 0
        assert tended == []
        assert folder.publisher.clock_ahead == 399 * DAY + 3 * HOUR
        assert tended_at(now - 400 * DAY) == len(TABLES)  # it deletes nothing that is younger
        assert folder.publisher.clock_ahead == -400 * DAY + 3 * HOUR
        assert tended_at(now + HOUR) == len(TABLES)
        assert tended_at(now + 2 * HOUR) == 0
        assert tended_at(now + 26 * HOUR) == len(TABLES)
    told = [record.message for record in caplog.records if "clock" in record.message]
    assert told == [
        "clock of the host agrees with the data",
        "clock of the host is ahead of the data, age counts from the data",
        "clock of the host is behind the data",
        "clock of the host agrees with the data",
    ]
