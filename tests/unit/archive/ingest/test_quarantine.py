"""The quarantine is bounded in bytes, files, rate and memory, and every drop is counted."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from archive.ingest import quarantine as module
from archive.ingest.quarantine import Quarantine, QuarantineDrop
from archive.settings.quarantine import QuarantineSettings

AT = 1_794_800_000_000


def fill(quarantine: Quarantine, count: int, size: int = 1_000, rule: str = "x") -> None:
    """Each with its own rule, so that the rate does not matter."""
    for number in range(count):
        rules = (f"{rule}{number}",)
        quarantine.put("eu", rules, bytes([number]) * size, AT + number, {"reason": "x"})


def first_bytes(folder: Path) -> list[int]:
    return [path.read_bytes()[0] for path in sorted(folder.glob("*.snappy"))]


def test_the_oldest_are_deleted_above_the_size(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path, QuarantineSettings(size=5_000))
    fill(quarantine, 20)
    quarantine.close()
    assert first_bytes(tmp_path) == [16, 17, 18, 19]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 5_000
    assert (quarantine.kept, quarantine.dropped) == (20, {QuarantineDrop.OLDEST: 16})


def test_the_oldest_are_deleted_above_the_number_of_files(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path, QuarantineSettings(files=7))
    fill(quarantine, 20)
    quarantine.close()
    assert first_bytes(tmp_path) == [17, 18, 19]
    assert len(list(tmp_path.iterdir())) == 6


def test_the_files_of_an_earlier_process_count(tmp_path: Path) -> None:
    for start in range(3):
        quarantine = Quarantine(tmp_path, QuarantineSettings(size=5_000))
        for number in range(3):
            at = AT + 10 * start + number
            quarantine.put("eu", ("x",), bytes([10 * start + number]) * 1_000, at, {})
        quarantine.close()
    assert first_bytes(tmp_path) == [12, 20, 21, 22]


def test_the_folder_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []
    real = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: listed.append(path) or real(path))
    quarantine = Quarantine(tmp_path, QuarantineSettings(size=5_000))
    fill(quarantine, 20)
    quarantine.close()
    assert listed == [tmp_path]


def test_a_minute_has_a_budget_for_each_sender_and_rule(tmp_path: Path) -> None:
    clock = 0.0
    quarantine = Quarantine(tmp_path, QuarantineSettings(per_minute=2), lambda: clock)
    for now in (0.0, 61.0):
        clock = now
        for sender in ("eu", "us"):
            for _ in range(5):
                quarantine.put(sender, ("x",), b"a", AT, {})
    quarantine.close()
    assert (quarantine.kept, quarantine.dropped[QuarantineDrop.RATE]) == (8, 12)


def test_a_request_larger_than_the_quarantine_is_not_kept(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path / "none", QuarantineSettings(size=100))
    quarantine.put("eu", ("x",), bytes(101), AT, {})
    quarantine.close()
    assert quarantine.dropped == {QuarantineDrop.SIZE: 1}
    assert not (tmp_path / "none").exists()


def test_a_slow_disk_holds_neither_the_caller_nor_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_QUEUED", 3_500)
    gate = threading.Event()
    real = module.QuarantineFolder.add

    def slow(*request: Any) -> int:
        gate.wait()
        return real(*request)

    monkeypatch.setattr(module.QuarantineFolder, "add", slow)
    quarantine = Quarantine(tmp_path, QuarantineSettings())
    fill(quarantine, 10)
    assert (quarantine.kept, quarantine.dropped) == (0, {QuarantineDrop.QUEUE: 7})
    gate.set()
    quarantine.close()
    assert quarantine.kept == 3


def test_a_quarantine_that_cannot_be_written_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    quarantine = Quarantine(tmp_path / "file", QuarantineSettings())
    fill(quarantine, 2)
    quarantine.close()
    assert [record.message for record in caplog.records] == ["cannot keep a refused request"]
    assert (quarantine.kept, quarantine.dropped) == (0, {QuarantineDrop.DISK: 2})
