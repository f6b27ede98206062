"""CPU, wall and memory of `streamgauge report` on the rollups of a system many times as large.

`python -m bench report --rollups DIR --times 250`: each stream and its consumers so many times.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from deltalake import CommitProperties, DeltaTable, write_deltalake

from spark_rollups.rollup.tables.delta_notes import note_text
from spark_rollups.rollup.tables.reader import Rollups, open_rollups
from spark_rollups.rollup.tables.schemas import (
    DAY_TABLES,
    SNAPSHOT_TABLES,
    TABLES,
    partition_of,
)
from streamgauge.rollup_format import ROLLUP_FORMAT

# hourly_gauges is not read by the report.
_COPIED: Final = ("states", "quantiles", "daily")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench report", description=__doc__)
    parser.add_argument("--rollups", required=True, help="rollups of a small system")
    parser.add_argument("--times", type=int, default=250)
    parser.add_argument("--keep", type=Path, help="folder for the large rollups; kept and reused")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        large = words.keep or Path(scratch, "rollups")
        if not (large / "daily").exists():
            multiply(open_rollups(words.rollups), large, words.times)
        month = f"{max(open_rollups(str(large)).days()):%Y-%m}"
        measure(large, month, Path(scratch, "out"))


def multiply(rollups: Rollups, folder: Path, times: int) -> None:
    rows = 0
    for name in ("hourly_gauges", *_COPIED):
        _write(folder, name, TABLES[name].empty_table(), "")
    for name in _COPIED:
        for day in rollups.days():
            table = _times(rollups.table(name, day, day), times)
            rows += table.num_rows if name == "daily" else 0
            _write(folder, name, table, "")
    versions = {name: DeltaTable(folder / name).version() for name in DAY_TABLES if name != "daily"}
    note = note_text(format=ROLLUP_FORMAT, tables=versions, written=int(time.time() * 1000))
    _write(folder, "daily", TABLES["daily"].empty_table(), note)
    days = rollups.snapshot_days()
    for name in reversed(SNAPSHOT_TABLES):
        parts = [_times(rollups.snapshot_table(name, day), times) for day in days]
        note = note_text(format=ROLLUP_FORMAT, days=[day.isoformat() for day in days])
        _write(folder, name, pa.concat_tables([TABLES[name].empty_table(), *parts]), note)
    print(f"{rows:,} daily rows in {folder}", flush=True)


def _times(table: Any, times: int) -> Any:
    """Copies rows with a stream under new names; those of servers and accounts stay single."""
    of_stream = pc.not_equal(table["stream"], "")
    streams, others = table.filter(of_stream), table.filter(pc.invert(of_stream))
    place = table.column_names.index("stream")
    copies = [
        streams.set_column(place, "stream", pc.binary_join_element_wise(streams["stream"], str(n), "-"))
        for n in range(times)
    ]  # fmt: skip
    return pa.concat_tables([others, *copies]).sort_by("metric")


def _write(folder: Path, name: str, table: Any, note: str) -> None:
    write_deltalake(
        folder / name, table, mode="append", partition_by=[partition_of(name)],
        commit_properties=CommitProperties(custom_metadata={"userMetadata": note}),
    )  # fmt: skip


def measure(rollups: Path, month: str, out: Path) -> None:
    command = [sys.executable, "-m", "spark_rollups.report.main", "--rollups", str(rollups)]
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--month", month, "--out", str(out)], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"CPU {cpu:.1f} s, wall {time.monotonic() - began:.1f} s, memory {used.ru_maxrss / 1024:.0f} MB"
    )
    for name, size in _sizes(out):
        print(f"{name} {size / 1e6:.2f} MB")


def _sizes(out: Path) -> Iterator[tuple[str, int]]:
    for path in sorted(out.iterdir()):
        files = path.rglob("*") if path.is_dir() else [path]
        yield path.name, sum(each.stat().st_size for each in files)


if __name__ == "__main__":
    main()
