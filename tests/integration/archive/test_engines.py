"""Other engines read the tables and agree on counts and sums, also where files were replaced."""

import ast
import re
from collections.abc import Callable, Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from support.archive.folder import DAY, HOUR, MONDAY, ArchiveFolder, Reported, published_rows

from archive.batch import OpaqueKind
from archive.tables.schema import day_name


class Facts(NamedTuple):
    rows: int
    samples: int
    hourly_count: int
    increase: float
    series_of_metric: int
    messages: int


def sent() -> Iterator[list[Reported]]:
    """Two days in several publications, with late samples for a compacted day."""
    for hour in (0, 1, 2, 25):
        yield [
            (f"{metric}/{instance}", MONDAY + hour * HOUR + place * 60_000, hour + place / 4)
            for metric in ("up", "c_total")
            for instance in ("a", "b", "c")
            for place in range(10)
        ]
    yield [("c_total/a", MONDAY + HOUR + 1_800_000, 99.5), ("late/a", MONDAY, 1.0)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables")
    with ArchiveFolder(path) as folder:
        for reported in sent():
            folder.send(reported, opaque=((OpaqueKind.HISTOGRAM, "h", MONDAY + 5, b"buckets"),))
            folder.publish_all()
            folder.publish_due(MONDAY + 3 * DAY)
    return path


@pytest.fixture(scope="module")
def expected() -> Facts:
    every = [sample for reported in sent() for sample in reported]
    hours = {(name, time // HOUR) for name, time, _ in every}
    increase = 0.0
    for name in {name for name, _, _ in every}:
        values = [float(value) for _, value in sorted((t, v) for n, t, v in every if n == name)]
        increase += sum(b - a if b >= a else b for a, b in pairwise(values))
    return Facts(len(hours), len(every), len(every), increase, 3, 1)


def by_polars(root: Path) -> Facts:
    def one(table: str, expression: Any) -> Any:
        return pl.scan_delta(str(root / table)).select(expression).collect().item()

    return Facts(
        one("samples", pl.len()),
        one("samples", pl.col("ts").list.len().sum()),
        one("hourly", pl.col("count").sum()),
        one("hourly", pl.col("increase").sum()),
        one("series", (pl.col("metric") == "c_total").sum()),
        one("histograms", pl.len()),
    )


def by_pandas(root: Path) -> Facts:
    def frame(table: str) -> pd.DataFrame:
        return DeltaTable(root / table).to_pandas()

    samples, hourly, series = frame("samples"), frame("hourly"), frame("series")
    return Facts(
        len(samples),
        int(samples["ts"].map(len).sum()),
        int(hourly["count"].sum()),
        float(hourly["increase"].sum()),
        int((series["metric"] == "c_total").sum()),
        len(frame("histograms")),
    )


def by_duckdb(root: Path) -> Facts:
    connection = duckdb.connect()
    for table in ("samples", "hourly", "series", "histograms"):
        connection.register(table, DeltaTable(root / table).to_pyarrow_dataset())

    def one(query: str) -> Any:
        (value,) = connection.execute(query).fetchone() or (None,)
        return value

    return Facts(
        one("SELECT count(*) FROM samples"),
        one("SELECT sum(len(ts)) FROM samples"),
        one("SELECT sum(h.count) FROM hourly h JOIN series s USING (series)"),
        one("SELECT sum(increase) FROM hourly"),
        one("SELECT count(*) FROM series WHERE labels['__name__'] = 'c_total'"),
        one("SELECT count(*) FROM histograms"),
    )


@pytest.mark.parametrize("engine", [by_polars, by_pandas, by_duckdb])
def test_engines_agree_with_what_was_sent(
    engine: Callable[[Path], Facts], root: Path, expected: Facts
) -> None:
    found = engine(root)
    assert found._replace(increase=0) == expected._replace(increase=0)
    assert found.increase == pytest.approx(expected.increase, rel=1e-12)


def test_replaced_files_are_there_and_no_engine_reads_them(root: Path, expected: Facts) -> None:
    """Otherwise the test above proves nothing."""
    files = list((root / "samples").glob("day=*/*.parquet"))
    assert sum(pq.ParquetFile(path).metadata.num_rows for path in files) > expected.rows
    assert len(DeltaTable(root / "samples").file_uris()) == 2


def test_engines_skip_files_by_the_statistics_of_the_log(root: Path) -> None:
    table = DeltaTable(root / "samples")
    first = table.file_uris(file_pruning_predicate=[("day", "=", "2026-09-28")])
    assert len(first) == 1
    dataset = table.to_pyarrow_dataset()

    def kept(expression: Any) -> int:
        return sum(1 for _ in dataset.get_fragments(expression))

    assert kept(ds.field("metric") == "up") == 2
    assert kept(ds.field("metric") == "zebra") == 0
    (late,) = (s["series"] for s in published_rows(root, "series") if s["metric"] == "late")
    assert kept(ds.field("series") == late) == 1
    assert kept(ds.field("series") > late) == 0


def test_pandas_reads_the_files_of_one_day(root: Path) -> None:
    frame = DeltaTable(root / "hourly").to_pandas(filters=[("day", "=", date(2026, 9, 29))])
    assert (len(frame), int(frame["count"].sum())) == (6, 60)


def test_an_earlier_version_shows_what_a_reader_saw_then(root: Path) -> None:
    table = DeltaTable(root / "samples", version=1)
    assert table.to_pyarrow_table().num_rows == 6


def _examples() -> list[str]:
    text = (Path(__file__).parents[3] / "archive/FORMAT.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return [block for block in blocks if not block.startswith("spark.")]


def _result(example: str, root: Path) -> Any:
    """Runs an example as it stands, with the address and day of these tables."""
    day = f"date({date.fromisoformat(day_name(MONDAY)):%Y, %-m, %-d})"
    tree = ast.parse(example.replace("ROOT", str(root)).replace("date(2026, 11, 16)", day))
    *before, last = tree.body
    assert isinstance(last, ast.Expr)
    names: dict[str, Any] = {}
    exec(compile(ast.Module(before, []), "FORMAT.md", "exec"), names)  # noqa: S102  our own text
    return eval(compile(ast.Expression(last.value), "FORMAT.md", "eval"), names)  # noqa: S307  our own text


def test_the_examples_of_the_format_run_as_they_are_printed(root: Path, expected: Facts) -> None:
    by_polars, by_pandas, by_duckdb = (_result(example, root) for example in _examples())
    assert by_polars.item() == expected.samples
    on_monday = [name for reported in sent() for name, time, _ in reported if time < MONDAY + DAY]
    assert by_pandas.sum() == len(on_monday)
    assert by_duckdb.columns == ["consumer", "hour", "max"]
    assert by_duckdb.fetchall() == []  # no such metric in these tables
