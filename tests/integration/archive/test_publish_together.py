"""Several publishers on the same tables: both end well, nothing is lost, nothing comes twice."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from support.archive.folder import (
    HOUR,
    MONDAY,
    ArchiveFolder,
    Reported,
    published_rows,
    published_samples,
    truth_of,
)
from support.archive.s3 import BUCKET

from archive.publishing.publisher import Publisher
from archive.tables.archive_tables import ArchiveTables, open_tables
from archive.tables.data_file import Change
from archive.tables.delta_log import ConflictError, DeltaLog
from archive.tools.cli import main


def part(name: str, step: int) -> list[Reported]:
    """Both writers send samples of the same series and hours, and each some series of its own."""
    shift = {"one": 0, "two": 7}[name]
    return [
        *(("c_total", MONDAY + step * HOUR + place * 1000 + shift, 100.0 * step + place)
          for place in range(5)),
        (f"{name}/{step}", MONDAY + step * HOUR, float(step)),
    ]  # fmt: skip


STEPS = 4
WRITE = """
import sys
from pathlib import Path
from support.archive.folder import ArchiveFolder
sys.path.insert(0, sys.argv[4])
from test_publish_together import STEPS, part
name, folder, store = sys.argv[1:4]
with ArchiveFolder(Path(folder), store=store) as archive:
    print("ready", flush=True)
    sys.stdin.readline()
    for step in range(STEPS):
        archive.send(part(name, step))
        archive.publish_all()
    print(archive.publisher.conflicts["publish"], flush=True)
"""


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "store")
    request.getfixturevalue("s3")
    return f"s3://{BUCKET}/{tmp_path.name}"


def test_two_processes_publish_at_once(store: str, tmp_path: Path) -> None:
    tests = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{tests}:{tests.parent}"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, name, str(tmp_path / name), store, str(Path(__file__).parent)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in ("one", "two")
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs: list[str] = []
    threads = [
        threading.Thread(target=lambda each=each: outputs.append(each.communicate("go\n")[0]))
        for each in processes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.returncode for process in processes] == [0, 0]
    assert sum(map(int, outputs)) > 0, "they were never in each other's way"
    every = [
        sample for name in ("one", "two") for step in range(STEPS) for sample in part(name, step)
    ]
    assert published_samples(store) == truth_of(every)
    check_statistics(store)


def check_statistics(store: str) -> None:
    """Of every row, from its own samples."""
    hourly = {(row["name"], row["hour"]): row for row in published_rows(store, "hourly")}
    samples = list(published_rows(store, "samples"))
    assert len(samples) == len(hourly)
    for row in samples:
        values = row["fv"] if row["iv"] is None else [v / 10 ** row["scale"] for v in row["iv"]]
        found = hourly[row["name"], row["hour"]]
        assert (found["count"], found["sum"]) == (len(values), sum(values)), row["name"]
    ids = [row["series"] for row in published_rows(store, "series")]
    assert len(ids) == len(set(ids))
    assert main(["verify", store]) == 0


class Interrupted(DeltaLog):
    """Lets another publisher commit just before its own commit."""

    other: ArchiveFolder | None

    def commit(
        self, change: Change, positions: Mapping[str, int], *, data_change: bool = True
    ) -> None:
        if self.other is not None:
            other, self.other = self.other, None
            other.publish_all()
        super().commit(change, positions, data_change=data_change)


@pytest.mark.parametrize("table", ["series", "hourly", "samples", "histograms"])
def test_a_commit_between_two_commits_of_another_publisher(table: str, tmp_path: Path) -> None:
    """Both have samples of the same series and hour: rows and statistics hold all of them."""
    store = str(tmp_path / "store")
    with (
        ArchiveFolder(tmp_path / "one", store=store) as one,
        ArchiveFolder(tmp_path / "two", store=store) as two,
    ):
        one.send(part("one", 0))
        one.publish_all()
        log = one.tables.logs[table]
        log.__class__ = Interrupted
        vars(log)["other"] = two
        one.send(part("one", 1))
        two.send(part("two", 1))
        one.publish_all()
        assert one.publisher.conflicts == {"publish": 1, "maintenance": 0}
        assert one.wal.sealed_segments() == two.wal.sealed_segments() == []
    assert published_samples(store) == truth_of([*part("one", 0), *part("one", 1), *part("two", 1)])
    check_statistics(store)


def test_a_second_publisher_of_the_same_log_finds_its_position_covered(tmp_path: Path) -> None:
    """A process that was believed dead: what it commits first is not committed again."""
    with ArchiveFolder(tmp_path) as folder:
        folder.send(part("one", 0))
        log = folder.tables.logs["samples"]
        log.__class__ = Interrupted
        vars(log)["other"] = Twin(folder)
        folder.publish_all()
        assert folder.publisher.conflicts == {"publish": 1, "maintenance": 0}
        assert folder.samples() == truth_of(part("one", 0))
        versions = folder.snapshot.versions
        assert (versions["samples"], versions["metadata"]) == (1, 1)


class Twin:
    def __init__(self, folder: ArchiveFolder) -> None:
        tables: ArchiveTables = open_tables(folder.path)
        self._publisher = Publisher(tables, folder.wal, folder.settings)

    def publish_all(self) -> None:
        self._publisher.publish_all(MONDAY)


def test_a_table_that_another_publisher_creates_meanwhile_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """delta-rs returns the other's table when both create it at once."""
    store = str(tmp_path / "store")
    real = DeltaTable.create
    with (
        ArchiveFolder(tmp_path / "one", store=store) as one,
        ArchiveFolder(tmp_path / "two", store=store) as two,
    ):
        one.send(part("one", 0))
        two.send(part("two", 0))

        def late(url: str, *args: Any, **options: Any) -> DeltaTable:
            monkeypatch.setattr(DeltaTable, "create", real)
            two.publish_all()
            return real(url, *args, **{**options, "mode": "ignore"})

        monkeypatch.setattr(DeltaTable, "create", late)
        one.publish_all()
        assert one.publisher.conflicts == {"publish": 1, "maintenance": 0}
    assert published_samples(store) == truth_of([*part("one", 0), *part("two", 0)])
    check_statistics(store)


def test_a_publisher_that_always_loses_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object, **__: object) -> None:
        raise ConflictError("another writer was faster")

    monkeypatch.setattr("archive.publishing.publisher._LONGEST_PAUSE", 0.0)
    with ArchiveFolder(tmp_path) as folder:
        folder.send(part("one", 0))
        with monkeypatch.context() as patch:
            patch.setattr(DeltaLog, "commit", lose)
            with pytest.raises(ConflictError, match="another writer was faster"):
                folder.publish_all()
        assert len(folder.wal.sealed_segments()) == 1
        assert folder.publisher.conflicts["publish"] == 20
        folder.publish_all()
        assert folder.samples() == truth_of(part("one", 0))
