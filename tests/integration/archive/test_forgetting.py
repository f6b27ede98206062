"""Series go with their last day, come back under new ids, and no sample is lost."""

from pathlib import Path

import numpy as np
import pytest
from support.archive.folder import (
    DAY,
    HOUR,
    MONDAY,
    ArchiveFolder,
    bits_of,
    labels_of,
    published_rows,
    truth_of,
)

from archive.maintenance.retention import forgotten_series
from archive.series.idle import IdleSeries
from archive.settings.publishing import PublishSettings, RetentionSettings
from archive.tables.archive_tables import Snapshot
from archive.tables.delta_log import ConflictError
from archive.tables.schema import SERIES, TABLES
from archive.tables.series import read_series


def series_ids(root: Path) -> dict[str, int]:
    return {row["name"]: row["series"] for row in published_rows(root, SERIES)}


def test_forgotten_series_come_back_under_new_ids(tmp_path: Path) -> None:
    settings = PublishSettings(retention=RetentionSettings(age=2 * 86_400.0))
    with ArchiveFolder(tmp_path, settings) as folder:
        folder.send([("gone", MONDAY, 1.0), ("up", MONDAY, 1.0)])
        folder.publish_all(MONDAY)
        folder.send([("up", MONDAY + day * DAY, 1.0) for day in (3, 4, 5)])
        folder.publish_all(MONDAY + 5 * DAY)
        assert folder.publish_due(MONDAY + 5 * DAY + HOUR).deleted == 1
        assert series_ids(tmp_path) == {"up/a": 1}
        folder.close()
        folder.open()
        folder.send([("gone", MONDAY + 5 * DAY, 2.0)])
        folder.publish_all(MONDAY + 5 * DAY)
        assert series_ids(tmp_path) == {"up/a": 1, "gone/a": 2}
        assert folder.samples().keys() == {"up/a", "gone/a"}


def test_series_are_forgotten_when_another_writer_delayed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = PublishSettings(retention=RetentionSettings(age=2 * 86_400.0))
    now = MONDAY + 5 * DAY
    with ArchiveFolder(tmp_path, settings) as folder:
        kept = [("up", now - days * DAY, 1.0) for days in (2, 1, 0)]
        folder.send([("gone", MONDAY, 1.0), *kept])
        folder.publish_all(now)
        log = folder.tables.logs[SERIES]

        def lose(*_: object, **__: object) -> None:
            raise ConflictError("another writer was faster")

        with monkeypatch.context() as patch:
            patch.setattr(log, "commit", lose)
            assert folder.publish_due(now + HOUR).deleted == 1
        assert len(list(published_rows(tmp_path, SERIES))) == 2
        assert folder.publisher.conflicts == {"publish": 0, "maintenance": 1}
        folder.publish_due(now + 2 * HOUR)
        assert [row["name"] for row in published_rows(tmp_path, SERIES)] == ["up/a"]
        assert folder.samples() == truth_of(kept)


def test_late_series_of_a_publication_in_progress_are_not_forgotten(tmp_path: Path) -> None:
    """Their row is committed before their samples, and is older than the oldest day."""
    with ArchiveFolder(tmp_path) as folder:
        folder.send([("gone", MONDAY, 1.0), ("late", MONDAY + 3 * DAY, 1.0)])
        folder.publish_all()
        files = folder.snapshot.files[SERIES]
        folder.send([("up", MONDAY + 5 * DAY, 1.0)])
        folder.publish_all()
        snapshot = folder.snapshot
        newest = [file for file in snapshot.files["samples"] if file.day == "2026-10-03"]
        before = Snapshot({**dict.fromkeys(TABLES, ()), "samples": newest, SERIES: files}, {})
        change = forgotten_series(folder.tables.storage, before, "2026-09-28", "x")
        kept = read_series(folder.tables.storage, change.added).to_pylist()
        assert [dict(row["labels"])["__name__"] for row in kept] == ["late"]


def test_series_come_and_go_in_log_and_tables_without_a_loss(tmp_path: Path) -> None:
    """One publisher all the time: its map of ids outlives the series."""
    retention = RetentionSettings(age=2 * 86_400.0, series=86_400.0)
    with ArchiveFolder(tmp_path, PublishSettings(retention=retention)) as folder:
        idle = IdleSeries(folder.wal, retention, lambda: None)
        used: dict[int, str] = {}
        for day in range(12):
            now = MONDAY + day * DAY
            idle.forget(now)
            names = ["up", f"new-{day}", *(["comes-again"] if day % 5 == 0 else [])]
            sent = [(name, now + place, float(day)) for name in names for place in (0, HOUR)]
            folder.send(sent, received=now + 3 * HOUR)
            folder.wal.series.last_seen.mark(
                np.array([folder.wal.series.identify(labels_of(name)) for name in names]), now
            )
            folder.publish_due(now + 5 * HOUR)
            idle.forget(now + 6 * HOUR)
            found = series_ids(tmp_path)
            for name, number in found.items():
                assert used.setdefault(number, name) == name  # never an id for another series
            published = folder.samples()
            for name, time, value in sent:
                assert published[f"{name}/a"][time] == bits_of(value)
        assert idle.forgotten > 10
        assert {name for name in used.values() if list(used.values()).count(name) > 1} == {
            "comes-again/a"
        }
        assert list(used.values()).count("comes-again/a") == 3
        assert len(series_ids(tmp_path)) <= 6
        totals = folder.publisher.totals
        assert (totals.unknown, totals.misplaced) == (0, 0)
