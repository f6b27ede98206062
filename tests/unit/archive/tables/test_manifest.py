"""The manifest: what it keeps, what it refuses, and which one counts."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive.tables.manifest import (
    Covered,
    DayEntry,
    FileEntry,
    HourEntry,
    Manifest,
    Retired,
    covered_after,
)
from archive.tables.manifest_store import (
    KEPT_MANIFESTS,
    ManifestError,
    decoded,
    drop_old_manifests,
    encoded,
    read_manifest,
    write_manifest,
)
from archive.tables.schema import HOUR_MS, manifest_path
from archive.tables.storage import Storage, open_storage

# A slow machine is no fault of the code.
unhurried = settings(deadline=None)

small = st.integers(0, 2**50)
files = st.builds(
    FileEntry,
    path=st.text(min_size=1),
    size=small,
    sha256=st.text("0123456789abcdef", max_size=8),
    rows=small,
    hours=st.lists(small, max_size=3).map(tuple),
)
hours = st.builds(HourEntry, samples=small, series=small, minutes=st.text(), published=small)
entries = st.lists(files, max_size=2).map(tuple)
days = st.builds(
    DayEntry,
    samples=entries,
    hourly=entries,
    opaque=entries,
    hours=st.dictionaries(small, hours, max_size=2),
)
manifests = st.builds(
    Manifest,
    publication=small,
    written=small,
    next_series=small,
    least_segment=small,
    series=entries,
    days=st.dictionaries(st.text(), days, max_size=2),
    log=st.text(),
    covered=st.dictionaries(small, st.builds(Covered, segment=small, created=small), max_size=2),
    retired=st.lists(st.builds(Retired, path=st.text(), since=small), max_size=2).map(tuple),
)


def entry(path: str, size: int = 10) -> FileEntry:
    return FileEntry(path=path, size=size, sha256="", rows=1, hours=(0,))


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(tmp_path)


@unhurried
@given(manifests)
def test_a_manifest_comes_back_as_it_was(manifest: Manifest) -> None:
    assert decoded(encoded(manifest), "x") == manifest


@unhurried
@given(manifests, st.data())
def test_a_changed_byte_is_never_read_as_another_manifest(
    manifest: Manifest, data: st.DataObject
) -> None:
    whole = bytearray(encoded(manifest))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(ManifestError):
        assert decoded(bytes(whole), "x") == manifest


@unhurried
@given(manifests, st.data())
def test_a_cut_manifest_is_refused(manifest: Manifest, data: st.DataObject) -> None:
    whole = encoded(manifest).rstrip(b"\n")
    with pytest.raises(ManifestError, match=r"^x: "):
        decoded(whole[: data.draw(st.integers(0, len(whole) - 1))], "x")


def test_an_archive_without_a_manifest_is_an_empty_one(storage: Storage) -> None:
    assert read_manifest(storage) == Manifest()


def test_the_highest_number_counts_and_other_files_do_not(storage: Storage) -> None:
    manifest = Manifest()
    for now in range(12):
        manifest = manifest.after(now)
        write_manifest(storage, manifest)
    storage.write("manifest/.tmp-0000000099.json", b"half")
    storage.write("manifest/notes.txt", b"mine")
    assert read_manifest(storage) == manifest
    assert manifest.publication == 12


def test_a_second_publisher_is_found_out(storage: Storage) -> None:
    write_manifest(storage, Manifest().after(1))
    with pytest.raises(ManifestError, match="another process publishes here"):
        write_manifest(storage, Manifest().after(2))


def test_old_manifests_go_and_the_newest_stay(storage: Storage) -> None:
    for number in range(1, KEPT_MANIFESTS + 4):
        storage.write(manifest_path(number), b"")
    drop_old_manifests(storage, KEPT_MANIFESTS + 3)
    left = [stored.path for stored in storage.list("manifest")]
    assert left == [manifest_path(number) for number in range(4, KEPT_MANIFESTS + 4)]


def test_a_file_that_is_not_named_any_more_is_retired() -> None:
    old = Manifest(days={"d": DayEntry(samples=(entry("a"), entry("b")))}, series=(entry("s"),))
    new = old.after(77, days={"d": DayEntry(samples=(entry("b"), entry("c")))})
    assert new.retired == (Retired(path="a", since=77),)
    assert new.after(78).retired == new.retired


def test_a_segment_is_covered_by_number_and_by_age() -> None:
    manifest = Manifest(covered={HOUR_MS: Covered(segment=5, created=1000)})
    assert manifest.holds(HOUR_MS, 5, 1000)
    assert manifest.holds(HOUR_MS, 4, 900)
    assert not manifest.holds(HOUR_MS, 6, 900)
    assert not manifest.holds(2 * HOUR_MS, 4, 900)
    # Newer than the published segments: a lost log that restarted its numbers.
    assert not manifest.holds(HOUR_MS, 4, 1001)


def test_what_is_covered_of_another_log_does_not_count() -> None:
    manifest = Manifest(log="a", covered={HOUR_MS: Covered(segment=5, created=1000)})
    assert manifest.of_log("a") == manifest
    assert not manifest.of_log("b").holds(HOUR_MS, 5, 1000)
    assert manifest.of_log("b").log == "b"


def test_coverage_forgets_segments_that_are_gone() -> None:
    old = {1: Covered(segment=3, created=1), 2: Covered(segment=7, created=1)}
    upto = Covered(segment=9, created=2)
    assert covered_after(old, [3], upto, oldest=5) == {2: old[2], 3: upto}
