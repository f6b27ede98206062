"""Row groups are selected by their first and last metric; without statistics they are read."""

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_rollups.datasource.parquet_reader import groups_with

METRICS = ["a", "b", "b", "c", "e", "f"]


@pytest.mark.parametrize(
    ("metrics", "groups"),
    [(None, [0, 1, 2]), ([], []), (["b"], [0, 1]), (["c", "f"], [1, 2]), (["d"], []), (["0"], [])],
)
def test_row_groups_whose_range_of_metrics_excludes_all_are_not_read(
    tmp_path: Path, metrics: Collection[str] | None, groups: list[int]
) -> None:
    table = pa.table({"labels": [[("x", "y")]] * 6, "metric": METRICS},
                     schema=pa.schema([("labels", pa.map_(pa.string(), pa.string())),
                                       ("metric", pa.string())]))  # fmt: skip
    pq.write_table(table, tmp_path / "with", row_group_size=2)
    pq.write_table(table, tmp_path / "without", row_group_size=2, write_statistics=False)
    assert groups_with(pq.read_metadata(tmp_path / "with"), metrics) == groups
    if metrics:
        assert groups_with(pq.read_metadata(tmp_path / "without"), metrics) == [0, 1, 2]
