"""The contract: FORMAT.md, schema.py and written files agree."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.documents import ROOT

from archive.tables.arrow import pa, pafs, pq
from archive.tables.chunk_encoder import cut, rows
from archive.tables.manifest import DayEntry, FileEntry, Manifest
from archive.tables.manifest_store import encoded
from archive.tables.parquet_files import new_file
from archive.tables.sample_columns import Samples
from archive.tables.schema import (
    FORMAT_VERSION,
    HOUR_MS,
    LATEST_TIME,
    LOOKBACK_HOURS,
    MAX_SCALE,
    SAMPLES,
    SAMPLES_SCHEMA,
    SCHEMAS,
    STALE_BITS,
    STATISTICS,
    day_name,
    day_start,
    day_time,
    hour_start,
    manifest_files,
    manifest_publication,
)
from archive.tables.series import SeriesRegistry, fingerprint, write_series
from archive.tables.storage import Storage, StorageError, open_storage
from archive.tables.storage_overlay import OverlayStorage

TEXT = (ROOT / "archive/FORMAT.md").read_text()
HOUR = 1_790_553_600_000


def section(table: str) -> str:
    found = re.search(rf"^## \d+\. `{table}/`\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL)
    assert found, table
    return found[1]


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_column_is_in_the_contract(table: str) -> None:
    named = set(re.findall(r"`(\w+)`", section(table)))
    assert set(SCHEMAS[table].names) <= named


def test_the_contract_names_the_numbers_of_the_code() -> None:
    assert TEXT.startswith(f"# The archive on disk, format {FORMAT_VERSION}\n")
    assert f"{STALE_BITS:#018x}" in TEXT
    assert f"at most {LOOKBACK_HOURS} hours back" in TEXT
    assert f"`scale` is 0 to {MAX_SCALE}" in TEXT
    assert set(STATISTICS) <= set(re.findall(r"`(\w+)`", section("hourly")))


def one_row() -> pa.Table:
    samples = Samples(
        np.zeros(3, np.int32),
        np.zeros(3, np.int32),
        np.array([5, 10, 900_000]) + HOUR,
        np.array([1.5, 2.0, 2.5]).view(np.uint64),
    )
    return rows(cut(samples), pa.array(["up"]).dictionary_encode(), [""])


def written(storage: Storage) -> FileEntry:
    with new_file(storage, "samples/day=2026-09-28/x.parquet", SAMPLES, (HOUR,)) as file:
        file.write(one_row(), (HOUR + 5, HOUR + 900_000))
        return file.finish()


def test_a_file_says_what_it_is_and_when(tmp_path: Path) -> None:
    entry = written(open_storage(tmp_path))
    file = pq.ParquetFile(tmp_path / entry.path)
    about = {**file.schema_arrow.metadata, **file.metadata.metadata}
    assert about[b"streamgauge.format"] == b"1"
    assert about[b"streamgauge.table"] == b"samples"
    assert about[b"streamgauge.min_time_ms"] == str(HOUR + 5).encode()
    assert about[b"streamgauge.max_time_ms"] == str(HOUR + 900_000).encode()
    assert file.schema_arrow.equals(SAMPLES_SCHEMA)
    assert (entry.rows, entry.size) == (1, (tmp_path / entry.path).stat().st_size)


def test_columns_have_the_encodings_of_the_contract(tmp_path: Path) -> None:
    entry = written(open_storage(tmp_path))
    group = pq.ParquetFile(tmp_path / entry.path).metadata.row_group(0)
    found = {
        column.path_in_schema: (column.compression, set(column.encodings))
        for column in map(group.column, range(group.num_columns))
    }
    for name in ("ts", "iv", "stale", "starts"):
        compression, encodings = found[f"{name}.list.element"]
        assert (compression, "DELTA_BINARY_PACKED" in encodings) == ("ZSTD", True), name
    assert "BYTE_STREAM_SPLIT" in found["fv.list.element"][1]
    assert "RLE_DICTIONARY" in found["metric"][1] or "PLAIN_DICTIONARY" in found["metric"][1]


def test_a_stranger_reads_it_with_pyarrow_alone(tmp_path: Path) -> None:
    written(open_storage(tmp_path))
    (row,) = pq.read_table(tmp_path / "samples").to_pylist()  # finds the day in the folder's name
    assert (row["metric"], str(row["day"]), row["ts"]) == ("up", "2026-09-28", [5, 10, 900_000])
    assert [value / 10 ** row["scale"] for value in row["iv"]] == [1.5, 2.0, 2.5]


def test_a_file_that_broke_off_does_not_appear(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)

    def break_off() -> None:
        with new_file(storage, "samples/x.parquet", SAMPLES) as file:
            file.write(one_row(), (0, 1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert storage.list("samples") == []


def bucket(tmp_path: Path) -> Storage:
    """A store behind pyarrow's interface that does not count as a local file system."""
    inner = pafs.SubTreeFileSystem(tmp_path.as_posix(), pafs.LocalFileSystem())
    return Storage(inner, "bucket/prefix")


@pytest.mark.parametrize("make", [open_storage, bucket])
def test_every_kind_of_store_keeps_files_in_the_same_way(
    make: Callable[[Path], Storage], tmp_path: Path
) -> None:
    storage = make(tmp_path)
    assert storage.list("samples") == []
    storage.write("samples/b/one", b"1")
    storage.write("samples/a", b"22")
    storage.write("samples/a", b"333")  # the same name again, as after a broken-off publication
    assert [(each.path, each.size) for each in storage.list("samples")] == [
        ("samples/a", 3),
        ("samples/b/one", 1),
    ]
    assert storage.read("samples/a") == b"333"
    storage.delete("samples/a")
    storage.delete("samples/a")
    with pytest.raises(StorageError, match="cannot read samples/a in ") as caught:
        storage.read("samples/a")
    assert "\n" not in str(caught.value)


def test_an_address_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(StorageError, match=r"^carrier-pigeon://loft: "):
        open_storage("carrier-pigeon://loft")


def test_keys_in_an_address_are_not_shown() -> None:
    with pytest.raises(StorageError) as caught:
        open_storage("carrier-pigeon://key:secret@loft/x")
    assert "secret" not in str(caught.value)
    assert str(caught.value).startswith("carrier-pigeon://***@loft/x: ")


def test_an_overlay_shows_both_and_touches_nothing(tmp_path: Path) -> None:
    archive = open_storage(tmp_path / "archive")
    for name in ("kept", "gone", "changed"):
        archive.write(f"samples/{name}", b"old")
    overlay = OverlayStorage(archive, tmp_path / "scratch")
    overlay.write("samples/changed", b"new")
    overlay.write("samples/added", b"new")
    overlay.delete("samples/gone")
    assert [each.path.rpartition("/")[2] for each in overlay.list("samples")] == [
        "added",
        "changed",
        "kept",
    ]
    assert [overlay.read(f"samples/{name}") for name in ("changed", "kept")] == [b"new", b"old"]
    assert [archive.read(each.path) for each in archive.list("samples")] == [b"old"] * 3


def test_series_keep_their_numbers_and_order_by_metric(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    registry = SeriesRegistry(storage, ())
    names = ["up", "lag", "up", "zeta", "lag"]
    labels = [(("__name__", name), ("n", str(place))) for place, name in enumerate(names)]
    assert [registry.number(each) for each in labels] == [0, 1, 2, 3, 4]
    files = (write_series(storage, registry.new_rows(), "1"),)
    again = SeriesRegistry(storage, files)
    assert [again.number(each) for each in reversed(labels)] == [4, 3, 2, 1, 0]
    assert again.number((("__name__", "new"),)) == 5
    order = np.argsort(again.ranks()).tolist()
    assert order == [1, 4, 5, 0, 2, 3]
    assert again.metrics(np.array([3, 5], np.int32)).to_pylist() == ["zeta", "new"]
    assert again.new_rows().num_rows == 1


def test_fingerprints_separate_names_from_values() -> None:
    sets = [(("a", "bc"),), (("ab", "c"),), (("a", "b"), ("c", "")), (("a", "b"),)]
    assert len({fingerprint(each) for each in sets}) == len(sets)
    # Written down, because other programs may rely on it.
    assert fingerprint((("__name__", "up"),)).hex() == "3ff246bb0a6b8a70f9c7120f1b7be239"


def test_hours_and_days_are_those_of_utc() -> None:
    time = HOUR + 23 * HOUR_MS + 5
    assert (hour_start(time), day_start(time)) == (HOUR + 23 * HOUR_MS, HOUR)
    assert day_name(time) == "2026-09-28"
    assert day_time("2026-09-28") == HOUR
    assert (day_name(0), day_name(LATEST_TIME)) == ("1970-01-01", "9998-12-31")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("manifest/0000000042.json", 42),
        ("10000000000.json", 10_000_000_000),
        (".tmp-0000000042.json", None),
        ("0000000042.json.bak", None),
        ("0000000042", None),
        ("x.json", None),
    ],
)
def test_a_manifest_is_known_by_its_name(name: str, number: int | None) -> None:
    assert manifest_publication(name) == number


def test_the_rollups_find_the_files_without_the_rest_of_the_archive() -> None:
    def entry(path: str) -> FileEntry:
        return FileEntry(path=path, size=1, sha256="", rows=1)

    days = {
        "2026-09-28": DayEntry(samples=(entry("a"), entry("b")), hourly=(entry("c"),)),
        "2026-09-27": DayEntry(opaque=(entry("d"),)),
    }
    data = encoded(Manifest(series=(entry("s"),), days=days))
    assert manifest_files(data) == {
        "series": {"": ["s"]},
        "samples": {"2026-09-27": [], "2026-09-28": ["a", "b"]},
        "hourly": {"2026-09-27": [], "2026-09-28": ["c"]},
        "opaque": {"2026-09-27": ["d"], "2026-09-28": []},
    }
    with pytest.raises(ValueError, match="format 2 is newer"):
        manifest_files(encoded(Manifest(format=2)))
