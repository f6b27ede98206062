"""A zip of the modules that workers need, for clusters without Streamgauge.

`python -m spark_rollups.worker_zip FOLDER` writes it for spark-submit, with the program.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ZIP: Final = "streamgauge-spark.zip"
PROGRAM: Final = "streamgauge-rollup.py"
# Modules of other packages that workers import; these import no others.
_MODULES: Final = (
    "archive/__init__.py", "archive/tables/__init__.py", "archive/tables/chunk_statistics.py",
    "archive/tables/object_store.py", "archive/tables/schema.py", "exporter/__init__.py", "exporter/metric.py",
    "streamgauge/__init__.py", "streamgauge/protobuf.py", "streamgauge/rollup_format.py",
    "streamgauge/serving/__init__.py", "streamgauge/serving/version.py",
)  # fmt: skip
_PACKAGE: Final = "spark_rollups"
# Whole packages that workers import.
_PACKAGES: Final = (_PACKAGE, "exporter/catalog")
_TEXT: Final = '''"""For spark-submit: `spark-submit --py-files streamgauge-spark.zip streamgauge-rollup.py ...`."""

import sys

from spark_rollups.main import main

sys.exit(main(sys.argv[1:]))
'''


def root() -> Path:
    """The folder that holds the packages."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(_PACKAGE)
    return Path(spec.origin).parent.parent


def write_zip(path: Path) -> None:
    """Reproducible: the same sources give the same bytes."""
    base = root()
    whole = (each for package in _PACKAGES for each in (base / package).rglob("*.py"))
    names = [*_MODULES, *(each.relative_to(base).as_posix() for each in whole)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(names):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, (base / name).read_bytes())


@contextlib.contextmanager
def package_zip() -> Iterator[Path]:
    """A temporary zip for one session; executors fetch it from the driver."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-") as folder:
        path = Path(folder, ZIP)
        write_zip(path)
        yield path


def main(argv: list[str]) -> int:
    folder = Path(argv[0] if argv else "dist")
    folder.mkdir(parents=True, exist_ok=True)
    write_zip(folder / ZIP)
    (folder / PROGRAM).write_text(_TEXT)
    sys.stdout.write(f"{folder / ZIP}\n{folder / PROGRAM}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
