"""The report on S3 is that in a folder, and Spark gets the settings that others read."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.archive.s3 import BUCKET, s3_server, upload
from support.rollups.report_month import healthy

from spark_rollups.filesystem import Root
from spark_rollups.report.main import main as report
from spark_rollups.s3a import s3a_configuration

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The environment leads to an S3 server on loopback."""
    with s3_server() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield f"s3://{BUCKET}"


def test_a_report_on_s3_is_the_one_in_a_folder(s3: str, tmp_path: Path) -> None:
    rollups = tmp_path / "rollups"
    healthy().write(rollups)
    upload(rollups, "report/rollups")
    local, there = tmp_path / "out", f"{s3}/report/out"
    for source, target in ((str(rollups), str(local)), (f"{s3}/report/rollups", there)):
        assert report(["--rollups", source, "--month", "2026-11", "--out", target]) == 0
    root = Root(there)
    files = sorted(path.relative_to(local).as_posix() for path in local.rglob("*.csv"))
    assert files
    for name in files:
        assert root.read(name) == (local / name).read_bytes(), name
    assert root.read("report-2026-11.html").startswith(b"<!")


def test_the_index_on_s3_lists_every_month(s3: str, tmp_path: Path) -> None:
    healthy().write(tmp_path / "rollups")
    out = f"{s3}/index/out"
    for month in (
        "2026-11",
        "2026-10",
        "2026-11",
    ):  # a report that is made again replaces its entry
        words = ["--rollups", str(tmp_path / "rollups"), "--month", month, "--out", out]
        assert report(words) == 0
    index = Root(out).read("index.html").decode()
    assert re.findall(r'href="(report-[0-9-]+\.html)"', index) == [
        "report-2026-11.html", "report-2026-10.html",
    ]  # fmt: skip


def test_the_client_of_spark_gets_the_variables_that_others_read() -> None:
    amazon = {"AWS_DEFAULT_REGION": "eu-1"}
    assert s3a_configuration(amazon) == {
        "spark.hadoop.fs.s3a.input.stream.type": "classic",
        "spark.hadoop.fs.s3a.endpoint.region": "eu-1",
    }
    own = s3a_configuration({"AWS_ENDPOINT_URL": "http://h:1", "AWS_REGION": "r"})
    assert own == {
        "spark.hadoop.fs.s3a.input.stream.type": "classic",
        "spark.hadoop.fs.s3a.endpoint.region": "r",
        "spark.hadoop.fs.s3a.endpoint": "http://h:1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }
