"""A series has one number for ever, in memory and across starts, whatever happens to one file."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.archive.wal_batches import definition, labels
from support.examples import examples

from archive.series.table import SeriesConflictError, SeriesTable
from archive.wal import fsync
from archive.wal.series_checkpoint import NAMES, SeriesCheckpoint


def table_of(count: int) -> SeriesTable:
    table = SeriesTable()
    table.adopt(definition(number) for number in range(count))
    return table


def loaded(folder: Path) -> tuple[SeriesTable, SeriesCheckpoint, list[str]]:
    table, file = SeriesTable(), SeriesCheckpoint(folder)
    faults = file.load(table)
    return table, file, faults


def saved(folder: Path, *ends: int) -> None:
    """As so many records as there are ends."""
    table, file = table_of(max(ends)), SeriesCheckpoint(folder)
    for number, end in enumerate(ends):
        file.save(table, end, number + 2)


def test_a_series_keeps_its_number() -> None:
    table = SeriesTable()
    first, second = table.identify(labels(0)), table.identify(labels(1))
    assert (first, second) == (0, 1)
    assert table.identify(labels(0)) == 0
    assert table.find(labels(1)) == 1
    assert table.definition(1) == definition(1)
    assert (len(table), table.known) == (2, 2)


def test_what_was_never_seen_is_not_found_and_leaves_nothing_behind() -> None:
    table = table_of(1)
    assert table.find((("__name__", "other"),)) is None
    assert table.find(labels(0), "replica-b") is None
    assert len(table) == 1


def test_two_replicas_of_one_series_have_two_numbers() -> None:
    table = SeriesTable()
    ids = [table.identify(labels(0), replica) for replica in ("", "a", "b")]
    assert ids == [0, 1, 2]
    assert table.definition(2) == type(definition(0))(2, labels(0), "b")


def test_a_replica_is_no_label() -> None:
    table = SeriesTable()
    assert table.identify((("a", "b"),)) != table.identify((), "b")
    assert table.identify((("a", "b"), ("c", "d"))) != table.identify((("c", "d"),), "b")


def test_an_unknown_number_has_no_definition() -> None:
    table = table_of(2)
    table.skip_to(5)
    for number in (-1, 2, 4, 5):
        with pytest.raises(KeyError):
            table.definition(number)


def test_numbers_that_were_lost_are_never_given_again() -> None:
    table = table_of(2)
    table.skip_to(5)
    assert table.identify(labels(7)) == 5
    assert [each.id for each in table] == [0, 1, 5]
    assert (len(table), table.known) == (6, 3)
    table.skip_to(3)
    assert len(table) == 6


def test_definitions_that_are_known_are_only_compared() -> None:
    table = table_of(3)
    table.adopt([definition(1), definition(2)])
    assert len(table) == 3


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        ((1, labels(7)), "series 1 is already another one"),
        ((3, labels(1)), "series 1 comes again as series 3"),
        ((5, labels(5)), "series 5 before series 3"),
    ],
)
def test_one_number_never_stands_for_two_series(
    wrong: tuple[int, tuple[tuple[str, str], ...]], reported: str
) -> None:
    table = table_of(3)
    with pytest.raises(SeriesConflictError, match=reported):
        table.adopt([type(definition(0))(*wrong, "")])
    assert table.find(labels(7)) is None


def test_labels_that_cannot_be_written_fail_for_their_own_series_only() -> None:
    table = SeriesTable()
    with pytest.raises(UnicodeEncodeError):
        table.identify((("__name__", "half a \ud800 pair"),))
    assert table.identify(labels(0)) == 0


def test_the_table_comes_back_from_its_file(tmp_path: Path) -> None:
    saved(tmp_path, 3, 3, 10)
    table, file, faults = loaded(tmp_path)
    assert list(table) == [definition(number) for number in range(10)]
    assert (file.covered, file.next_segment, faults) == (10, 4, [])


def test_a_folder_without_a_file_is_an_empty_table(tmp_path: Path) -> None:
    table, file, faults = loaded(tmp_path)
    assert (len(table), file.next_segment, faults) == (0, 1, [])


def test_skipped_numbers_at_the_end_come_back_as_skipped(tmp_path: Path) -> None:
    table = table_of(2)
    table.skip_to(9)
    SeriesCheckpoint(tmp_path).save(table, 9, 1)
    table, _, _ = loaded(tmp_path)
    assert table.identify(labels(5)) == 9


def test_skipped_numbers_in_between_come_back_as_skipped(tmp_path: Path) -> None:
    table = table_of(2)
    table.skip_to(5)
    table.identify(labels(7))
    SeriesCheckpoint(tmp_path).save(table, 6, 1)
    again, _, _ = loaded(tmp_path)
    assert list(again) == list(table)
    assert [each.id for each in again] == [0, 1, 5]


def test_many_series_take_several_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archive.wal.series_checkpoint._SERIES_A_RECORD", 4)
    saved(tmp_path, 11)
    assert [each.id for each in loaded(tmp_path)[0]] == list(range(11))


def test_many_small_records_are_made_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archive.wal.series_checkpoint._MAX_RECORDS", 3)
    table, file = table_of(8), SeriesCheckpoint(tmp_path)
    counts = []
    for end in range(1, 9):
        file.save(table, end, 2)
        _, again, _ = loaded(tmp_path)
        counts.append(again.records)
    assert counts == [1, 2, 3, 1, 2, 3, 1, 2]
    assert [each.id for each in loaded(tmp_path)[0]] == list(range(8))


def test_what_is_saved_already_is_not_written_again(tmp_path: Path) -> None:
    table, file = table_of(5), SeriesCheckpoint(tmp_path)
    file.save(table, 5, 2)
    before = (tmp_path / NAMES[0]).stat()
    file.save(table, 5, 2)
    assert (tmp_path / NAMES[0]).stat() == before


@pytest.mark.slow
@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(copy=st.sampled_from(NAMES), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_one_damaged_copy_does_no_harm_and_is_reported(
    tmp_path: Path, copy: str, place: float, bit: int
) -> None:
    for name in NAMES:
        (tmp_path / name).unlink(missing_ok=True)
    saved(tmp_path, 2, 4, 6)
    damaged = bytearray((tmp_path / copy).read_bytes())
    damaged[int(place * len(damaged))] ^= 1 << bit
    (tmp_path / copy).write_bytes(damaged)
    table, file, faults = loaded(tmp_path)
    assert [each.id for each in table] == list(range(6))
    assert len(faults) == 1
    assert copy in faults[0]
    file.save(table_of(7), 7, 9)
    healed, _, faults = loaded(tmp_path)
    assert (len(healed), faults) == (7, [])
    assert (tmp_path / NAMES[0]).read_bytes() == (tmp_path / NAMES[1]).read_bytes()


@pytest.mark.parametrize("missing", NAMES)
def test_a_missing_copy_is_made_again(tmp_path: Path, missing: str) -> None:
    saved(tmp_path, 4)
    (tmp_path / missing).unlink()
    table, file, _ = loaded(tmp_path)
    assert len(table) == 4
    file.save(table_of(5), 5, 3)
    assert (tmp_path / NAMES[0]).read_bytes() == (tmp_path / NAMES[1]).read_bytes()


def test_two_damaged_copies_give_the_longer_beginning(tmp_path: Path) -> None:
    saved(tmp_path, 2, 4, 6)
    for name, cut in zip(NAMES, (1, 200), strict=True):
        path = tmp_path / name
        os.truncate(path, path.stat().st_size - cut)
    table, _, faults = loaded(tmp_path)
    assert len(table) == 4
    assert len(faults) == 2


def test_after_a_failed_write_the_file_is_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, file = table_of(8), SeriesCheckpoint(tmp_path)
    file.save(table, 2, 2)

    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(fsync, "sync_data", broken)
        with pytest.raises(OSError, match="Input/output error"):
            file.save(table, 4, 3)
    # One of them has more than the other now, and what it has may not be on the disk.
    assert file.covered == 2
    inode = (tmp_path / NAMES[0]).stat().st_ino
    file.save(table, 8, 4)
    assert (tmp_path / NAMES[0]).stat().st_ino != inode
    again, _, faults = loaded(tmp_path)
    assert (len(again), faults) == (8, [])
