"""Time from the command to the first result of a Spark task, with and without the class archive."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.table import seconds, show

_BAR: Final = 8.0
_CHILD: Final = """
from spark_rollups.session import SparkSettings, open_session

session = open_session(SparkSettings(master="local[2]"))
print(session.spark.range(2).mapInArrow(iter, "id long").count(), flush=True)
session.close()
"""


def compare(rounds: int) -> None:
    """The first start writes the class archive at its end and is reported separately."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as cache:
        environ = {**os.environ, "XDG_CACHE_HOME": cache}
        first = _start(environ)
        size = sum(path.stat().st_size for path in Path(cache).rglob("*.jsa"))
        later = min(_start(environ) for _ in range(rounds))
    rows = [("first", seconds(first)), ("later", seconds(later))]
    show("from the command to the first result of a Spark task", ("start", "time"), rows)
    print(f"  the bar is {_BAR:.0f} s; the class archive takes {size / 1e6:.0f} MB")


def _start(environ: dict[str, str]) -> float:
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, env=environ, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        return time.perf_counter() - began
