"""The jars of Delta Lake: a folder to put them in, checked files, one line when they are missing."""

import hashlib
import os
from pathlib import Path

import pytest

from spark_rollups.filesystem import RollupError
from spark_rollups.jars import jars_folder, spark_jars
from spark_rollups.pinned_jars import DELTA, S3, Jar

DATA = b"classes"
JAR = Jar("org.example", "part", "1.0", hashlib.sha256(DATA).hexdigest())


def test_files_that_are_there_are_taken_without_a_network_or_java(tmp_path: Path) -> None:
    (tmp_path / "part-1.0.jar").write_bytes(DATA)
    lines: list[str] = []
    found = spark_jars({"STREAMGAUGE_SPARK_JARS": str(tmp_path)}, lines.append, [JAR])
    assert found == [tmp_path / "part-1.0.jar"]
    assert lines == []


def test_a_file_with_other_bytes_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "part-1.0.jar").write_bytes(b"other")
    with pytest.raises(RollupError, match=r"part-1\.0\.jar: SHA-256 is \w{64}, not \w{64}"):
        spark_jars({"STREAMGAUGE_SPARK_JARS": str(tmp_path)}, print, [JAR])


@pytest.mark.program
def test_what_cannot_be_fetched_is_one_line_with_the_folder_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark")
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        "<ivysettings><settings defaultResolver='none'/><resolvers><filesystem name='none'>"
        f"<artifact pattern='{tmp_path}/nowhere/[artifact].[ext]'/></filesystem></resolvers>"
        "</ivysettings>"
    )
    monkeypatch.setenv("STREAMGAUGE_IVY_SETTINGS", str(settings))
    monkeypatch.setenv("STREAMGAUGE_SPARK_JARS", str(tmp_path / "jars"))
    lines: list[str] = []
    with pytest.raises(RollupError, match=r"put part-1\.0\.jar into .*jars") as raised:
        spark_jars(os.environ, lines.append, [JAR])
    assert "\n" not in str(raised.value)
    assert len(lines) == 1
    assert list((tmp_path / "jars").iterdir()) == []


def test_the_folder_is_in_the_cache_or_where_a_variable_names_it() -> None:
    assert jars_folder({"HOME": "/h"}) == Path("/h/.cache/streamgauge/spark-jars")
    assert jars_folder({"HOME": "/h", "XDG_CACHE_HOME": "/x"}) == Path("/x/streamgauge/spark-jars")
    assert jars_folder({"STREAMGAUGE_CACHE": "/c"}) == Path("/c/spark-jars")
    assert jars_folder({"STREAMGAUGE_SPARK_JARS": "/j", "STREAMGAUGE_CACHE": "/c"}) == Path("/j")


def test_every_jar_is_pinned() -> None:
    assert {jar.version for jar in DELTA} == {"4.4.0"}
    assert len({jar.file for jar in (*DELTA, *S3)}) == len(DELTA) + len(S3)
    assert all(len(jar.sha256) == 64 for jar in (*DELTA, *S3))
