"""The zip for clusters: it holds what workers import, and nothing that they cannot have."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from spark_rollups.worker_zip import main, root, write_zip


@pytest.mark.slow
def test_the_zip_alone_can_do_a_task(tmp_path: Path) -> None:
    """In a Python that has numpy and pyarrow and none of our folders."""
    main([str(tmp_path)])
    libraries = Path(pa.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import spark_rollups.main as m; print(m.__file__)"],
        env={"PYTHONPATH": f"{tmp_path / 'streamgauge-spark.zip'}:{libraries}"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "streamgauge-spark.zip" in done.stdout


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    write_zip(tmp_path / "one.zip")
    write_zip(tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def catalogue() -> set[str]:
    return {f"catalog/{each.name}" for each in (root() / "exporter/catalog").glob("*.py")}


@pytest.mark.parametrize("package", ["exporter", "archive"])
def test_only_the_allowed_modules_of_other_packages_are_in_it(package: str, tmp_path: Path) -> None:
    write_zip(tmp_path / "one.zip")
    allowed = {
        "exporter": {"__init__.py", "metric.py", *catalogue()},
        "archive": {
            "__init__.py",
            "tables/__init__.py",
            "tables/chunk_statistics.py",
            "tables/object_store.py",
            "tables/schema.py",
        },
    }
    names = zipfile.ZipFile(tmp_path / "one.zip").namelist()
    assert {name.partition("/")[2] for name in names if name.startswith(package)} == allowed[
        package
    ]


def test_the_written_paths_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "dist")]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert Path(line).is_file()
