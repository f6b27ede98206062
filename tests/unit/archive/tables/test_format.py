"""The contract: FORMAT.md, schema.py and written files agree."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.documents import ROOT

from archive.tables.arrow import pa, pq
from archive.tables.chunk_encoder import cut, rows
from archive.tables.data_file import DataFile
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
    day_time,
    hour_start,
)
from archive.tables.series import SeriesRegistry, fingerprint, read_series
from archive.tables.storage import Storage, StorageError, UnreadableError, open_storage

TEXT = (ROOT / "archive/FORMAT.md").read_text()
HOUR = 1_790_553_600_000


def section(table: str) -> str:
    found = re.search(
        rf"^## \d+\. [^\n]*`{table}`[^\n]*\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL
    )
    assert found, table
    return found[1]


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_column_is_in_the_contract(table: str) -> None:
    named = set(re.findall(r"`(\w+)`", section(table)))
    assert set(SCHEMAS[table].names) <= named


def test_the_contract_names_the_numbers_of_the_code() -> None:
    assert TEXT.startswith(f"# The tables of the archive, format {FORMAT_VERSION}\n")
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


def written(storage: Storage) -> DataFile:
    path = "samples/day=2026-09-28/x.parquet"
    with new_file(storage, path, SAMPLES, "2026-09-28") as file:
        file.write(one_row())
        return file.finish()


def test_a_file_is_described_by_itself_and_by_its_statistics(tmp_path: Path) -> None:
    made = written(open_storage(tmp_path))
    file = pq.ParquetFile(tmp_path / made.path)
    about = file.schema_arrow.metadata
    assert about[b"streamgauge.format"] == str(FORMAT_VERSION).encode()
    assert about[b"streamgauge.table"] == b"samples"
    assert file.schema_arrow.equals(SAMPLES_SCHEMA)
    assert (made.rows, made.size) == (1, (tmp_path / made.path).stat().st_size)
    assert json.loads(made.statistics) == {
        "numRecords": 1,
        "minValues": {"metric": "up", "series": 0, "hour": "2026-09-28T00:00:00.000Z"},
        "maxValues": {"metric": "up", "series": 0, "hour": "2026-09-28T00:00:00.000Z"},
        "nullCount": {"metric": 0, "series": 0, "hour": 0},
    }


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
            file.write(one_row())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert list((tmp_path / "samples").iterdir()) == []


def test_a_missing_file_is_named_in_one_line(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    storage.delete("samples/a")
    with (
        pytest.raises(UnreadableError, match="cannot read samples/a in ") as caught,
        storage.open("samples/a"),
    ):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["s3://bucket/prefix", "s3a://bucket/prefix/"])
def test_s3_has_one_address_for_all_libraries(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")  # without it a request asks for it
    assert open_storage(address).url == "s3://bucket/prefix"


@pytest.mark.parametrize(
    "address", ["gs://bucket/prefix", "abfss://container@account.dfs.core.windows.net/prefix"]
)
def test_other_object_stores_are_accepted(address: str) -> None:
    storage = open_storage(address)
    assert (storage.url, storage.folder) == (address, None)


def test_an_address_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(StorageError, match=r"^carrier-pigeon://loft: "):
        open_storage("carrier-pigeon://loft")


def test_keys_in_an_address_are_not_shown() -> None:
    with pytest.raises(StorageError) as caught:
        open_storage("carrier-pigeon://key:secret@loft/x")
    assert "secret" not in str(caught.value)
    assert str(caught.value).startswith("carrier-pigeon://***@loft/x: ")


def test_series_keep_their_numbers_and_order_by_metric(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    registry = SeriesRegistry(storage, ())
    names = ["up", "lag", "up", "zeta", "lag"]
    labels = [(("__name__", name), ("n", str(place))) for place, name in enumerate(names)]
    assert registry.numbers(labels) == [0, 1, 2, 3, 4]
    files = registry.write("1").added
    again = SeriesRegistry(storage, files)
    assert again.numbers(labels[::-1]) == [4, 3, 2, 1, 0]
    assert again.numbers([(("__name__", "new"),)] * 2) == [5, 5]
    order = again.by_rank().tolist()
    assert order == [1, 4, 5, 0, 2, 3]
    assert again.metrics(np.array([3, 5], np.int32)).to_pylist() == ["zeta", "new"]
    assert again.write("2").added[0].rows == 1


def test_a_new_day_of_many_series_takes_the_memory_of_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archive.tables.series._GROUP_ROWS", 500)
    storage, registry = open_storage(tmp_path), SeriesRegistry(open_storage(tmp_path), ())
    labels = [(("__name__", "lag"), ("consumer", f"worker-{each}")) for each in range(20_000)]
    numbers = np.array(registry.numbers(labels), np.int32)
    registry.seen(numbers, "2026-09-28")
    files = registry.write("1").added
    whole = read_series(storage, files).nbytes
    again, default = SeriesRegistry(storage, files), pa.default_memory_pool()
    pool = pa.proxy_memory_pool(default)
    pa.set_memory_pool(pool)
    try:
        assert again.numbers([labels[7], (("__name__", "new"),)]) == [7, 20_000]
        again.seen(numbers[10:], "2026-09-29")
        change = again.write("2")
    finally:
        pa.set_memory_pool(default)
    assert change.removed == files
    assert pool.max_memory() < whole / 4
    rows = read_series(storage, change.added).to_pylist()
    assert [row["series"] for row in rows] == [*range(20_001)]
    days = [(str(row["first_day"]), str(row["last_day"])) for row in rows]
    first, last = "2026-09-28", "2026-09-29"
    assert days == [(first, first)] * 10 + [(first, last)] * 19_990 + [("1970-01-01",) * 2]


def test_fingerprints_separate_names_from_values() -> None:
    sets = [(("a", "bc"),), (("ab", "c"),), (("a", "b"), ("c", "")), (("a", "b"),)]
    assert len({fingerprint(each) for each in sets}) == len(sets)
    # Written down, because other programs may rely on it.
    assert fingerprint((("__name__", "up"),)).hex() == "3ff246bb0a6b8a70f9c7120f1b7be239"


def test_hours_and_days_are_those_of_utc() -> None:
    time = HOUR + 23 * HOUR_MS + 5
    assert hour_start(time) == HOUR + 23 * HOUR_MS
    assert day_name(time) == "2026-09-28"
    assert day_time("2026-09-28") == HOUR
    assert (day_name(0), day_name(LATEST_TIME)) == ("1970-01-01", "9998-12-31")
