"""import: from OpenMetrics text and from a real Prometheus, into a folder and through a receiver."""

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from support.archive.folder import (
    DAY,
    MONDAY,
    STALE,
    ArchiveFolder,
    Reported,
    bits_of,
    labels_of,
    published_rows,
    published_samples,
    truth_of,
)
from support.archive.process import archiving
from support.remote_write.messages import Histogram

from archive.batch import OpaqueKind
from archive.tables.schema import OPAQUE as OPAQUE_TABLES
from archive.tools.cli import main
from archive.tools.importing.batch import NORMAL_NAN, ImportBatch, ImportedSeries
from archive.tools.importing.targets import ServerTarget
from archive.tools.opaque_messages import Exemplar as ToldExemplar
from archive.tools.opaque_messages import Metadata, write_exemplar, write_metadata
from bench.archive.receivers import victoria_program
from bench.process import free_port
from streamgauge.demo.processes.child import Child
from streamgauge.demo.processes.programs import Programs, prometheus
from streamgauge.demo.processes.readiness import wait_until_ready

MINUTE = 60_000
TEXT = """\
# TYPE c counter
# HELP c counts \\"things\\"\\nor so
c_total{instance="a",path="C:\\\\x\\"y\\n"} 1 1790553600.5 # {trace="abc"} 0.5 1790553600.25
c_total{path="C:\\\\x\\"y\\n",instance="a"} 2 1790553601
up{instance="a"} 1.5e3 1790553602
up{instance="a",empty=""} NaN 1790553603
{"quoted.name",instance="a"} -Inf 1790553604.001
# EOF
"""
REPORTED: list[Reported] = [
    *(("c_total", MONDAY + place * MINUTE, float(place)) for place in range(180)),
    *(("ratio/b", MONDAY + place * 7_001, place / 7) for place in range(500)),
    ("nan/c", MONDAY + 5, NORMAL_NAN),
    ("nan/c", MONDAY + DAY, float("inf")),
    ('odd/x\r\\y\n"z', MONDAY + 6, 1.0),
]
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def programs() -> Programs:
    found = prometheus()
    if found is None:
        pytest.skip("Prometheus cannot be had here")
    return found


@asynccontextmanager
async def running(programs: Programs, folder: Path, *flags: str) -> AsyncIterator[str]:
    """A Prometheus that scrapes nothing and keeps everything; its address."""
    port = await asyncio.to_thread(free_port)
    await asyncio.to_thread((folder / "prometheus.yml").write_text, "global: {}\n")
    child = Child("prometheus", folder / "prometheus.log")
    await child.start(
        str(programs.prometheus),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.retention.time=100y",
        *flags,
    )
    try:
        await wait_until_ready(child, f"http://127.0.0.1:{port}/-/ready")
        yield f"http://127.0.0.1:{port}"
    finally:
        await child.stop()


def run(*words: str | Path) -> int:
    return main([str(word) for word in words])


def test_openmetrics_text_is_imported_completely(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "text").write_text(TEXT)
    assert run("import", tmp_path / "data", "--openmetrics", tmp_path / "text") == 0
    assert capsys.readouterr().err == f"imported 5 samples into {tmp_path / 'data'}\n"
    found = published_samples(tmp_path / "data")
    assert found == truth_of(
        [
            ("c_total", MONDAY + 500, 1.0),
            ("c_total", MONDAY + 1000, 2.0),
            ("up", MONDAY + 2000, 1500.0),
            ("up", MONDAY + 3000, NORMAL_NAN),
            ("quoted.name", MONDAY + 4001, float("-inf")),
        ]
    )
    assert [row[0] for row in opaque_of(tmp_path / "data")] == ["exemplars", "metadata"]
    assert run("verify", tmp_path / "data") == 0
    assert run("export", tmp_path / "data") == 0
    text = capsys.readouterr().out
    assert '# HELP c counts \\"things\\"\\nor so\n' in text
    line = 'c_total{instance="a",path="C:\\\\x\\"y\\n"} 2 1790553601'
    assert line in text
    assert '# {trace="abc"} 0.5 1790553600.250' in text


def test_an_export_comes_back_as_it_was(tmp_path: Path, capsys: Output) -> None:
    fill(tmp_path / "first", REPORTED)
    assert run("export", tmp_path / "first", "--output", tmp_path / "text") == 0
    for _ in range(2):  # the second time changes nothing
        assert run("import", tmp_path / "second", "--openmetrics", tmp_path / "text") == 0
    assert published_samples(tmp_path / "second") == truth_of(REPORTED)
    assert run("verify", tmp_path / "second") == 0
    assert "no fault" in capsys.readouterr().out


async def test_a_prometheus_is_read_by_both_its_ways(programs: Programs, tmp_path: Path) -> None:
    await asyncio.to_thread(fill, tmp_path / "first", REPORTED)
    text, data = tmp_path / "text", tmp_path / "data"
    assert await asyncio.to_thread(run, "export", tmp_path / "first", "--output", text) == 0
    words = ["tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
    await asyncio.to_thread(subprocess.run, [programs.promtool, *words], check=True)
    span = ("--from", "2026-09-27T23:00", "--to", "2026-09-29T01:00")
    async with running(programs, tmp_path) as address:
        for way in ("remote-read", "query", "default"):
            via = [] if way == "default" else ["--via", way]
            words = ["import", str(tmp_path / way), "--prometheus", address, *via, *span]
            assert await asyncio.to_thread(run, *words) == 0
            found = await asyncio.to_thread(published_samples, tmp_path / way)
            assert found == truth_of(REPORTED), way
        match = ("--match", 'ratio{instance="b"}')
        span = ("--from", str(MONDAY / 1000 + 7.001), "--to", str(MONDAY / 1000 + 5 * 7.001))
        for way in ("remote-read", "query"):
            into = tmp_path / f"some-{way}"
            words = ["import", str(into), "--prometheus", address, "--via", way, *match, *span]
            assert await asyncio.to_thread(run, *words) == 0
            some = [each for each in REPORTED if each[0] == "ratio/b"][1:5]
            assert await asyncio.to_thread(published_samples, into) == truth_of(some)


async def test_remote_read_keeps_stale_markers_and_every_bit(
    programs: Programs, tmp_path: Path
) -> None:
    """What goes through a receiver by remote write comes back by remote read."""
    reported: list[Reported] = [
        ("up", MONDAY, 1.0),
        ("up", MONDAY + 1, 0.0),
        ("up", MONDAY + 2, STALE),
        ("up", MONDAY + 3, 0x7FF8_0000_0000_0001),
        ("up/b", MONDAY + 4, 1 / 3),
    ]
    batch = ImportBatch([series(name, reported) for name in ("up", "up/b")])
    async with running(programs, tmp_path, "--web.enable-remote-write-receiver") as address:
        target = ServerTarget(address, {})
        await target.add(batch)
        await target.close()
        span = ("--from", str(MONDAY // 1000), "--to", str(MONDAY // 1000 + 60))
        words = ["import", str(tmp_path / "archive"), "--prometheus", address, *span]
        assert await asyncio.to_thread(run, *words) == 0
        found = await asyncio.to_thread(published_samples, tmp_path / "archive")
        assert found == truth_of(reported)


def series(name: str, reported: list[Reported]) -> ImportedSeries:
    mine = [(time, bits_of(value)) for each, time, value in reported if each == name]
    times = np.array([time for time, _ in mine], np.int64)
    return ImportedSeries(labels_of(name), times, np.array([found for _, found in mine], np.uint64))


def fill(path: Path, reported: list[Reported]) -> None:
    with ArchiveFolder(path) as folder:
        folder.send(reported)
        folder.publish_all()


def test_a_folder_in_use_is_refused_with_the_way_out(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "text").write_text("# EOF\n")
    with ArchiveFolder(tmp_path / "data"):
        assert run("import", tmp_path / "data", "--openmetrics", tmp_path / "text") == 2
    error = capsys.readouterr().err
    assert "use the server's address" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("up 1\n# EOF\n", "line 1: the sample has no time"),
        ("up 1 2\n", "line 1: the text is truncated: it ends without # EOF"),
        ("# EOF\nup 1 2\n", "line 2: text after # EOF"),
        ("up one 2\n# EOF\n", "line 1: 'one' is not a number"),
        ("up 1_0 2\n# EOF\n", "line 1: '1_0' is not a number"),
        ("up 1 inf\n# EOF\n", "line 1: inf is not a time"),
        ('up{a="1",a="2"} 1 2\n# EOF\n', "line 1: has no name, or a label twice"),
        ('{a="1"} 1 2\n# EOF\n', "line 1: has no name"),
        ("up{a=1} 1 2\n# EOF\n", "line 1: cannot read the labels 'a=1'"),
        ("up 1 2 # x\n# EOF\n", "line 1: expected an exemplar: labels in braces"),
        ("up 1 2 3\n# EOF\n", "line 1: expected a series, a value and a time"),
        ("up 1 -0.001\n# EOF\n", "line 1: -0.001 is before 1970 or after 9998"),
        ("up 1 2\nup 1 253370764800\n# EOF\n", "line 2: 253370764800 is before 1970 or after"),
    ],
)
def test_a_bad_line_is_named(text: str, output: str, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "text").write_text(text)
    assert run("import", tmp_path / "data", "--openmetrics", tmp_path / "text") == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / 'text'}: {output}" in error
    assert error.count("\n") == 1


# --- what OpenMetrics cannot say ------------------------------------------------------------------

OPAQUE = (
    (OpaqueKind.HISTOGRAM, "h", MONDAY + 5, Histogram(MONDAY + 5, sum=1.5).encoded()),
    (OpaqueKind.HISTOGRAM, "h", MONDAY + DAY, Histogram(MONDAY + DAY).encoded()),
    (OpaqueKind.EXEMPLAR, "c_total", MONDAY, write_exemplar(ToldExemplar((("t", "a"),), 2.0, MONDAY))),
    (OpaqueKind.METADATA, None, 0, write_metadata(Metadata("c_total", "counter", "counts", ""))),
    (OpaqueKind.METADATA, "up", 0, write_metadata(Metadata("", "gauge", "is up", ""))),
)  # fmt: skip


def opaque_of(path: Path) -> list[tuple[object, ...]]:
    return sorted(
        (table, str(row["name"]), str(row["time"]), row["data"])
        for table in OPAQUE_TABLES
        for row in published_rows(path, table)
    )


def exported_opaque(path: Path, into: Path) -> None:
    with ArchiveFolder(path) as folder:
        folder.send([("c_total", MONDAY, 1.0)], opaque=OPAQUE)
        folder.publish_all()
    assert run("export", path, "--output", into / "text", "--opaque", into / "lines") == 0


def test_native_histograms_come_back_from_an_export_byte_by_byte(
    tmp_path: Path, capsys: Output
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    exported_opaque(first, tmp_path)
    capsys.readouterr()
    for _ in range(2):  # the second time changes nothing
        assert run("import", second, "--opaque", tmp_path / "lines") == 0
        assert capsys.readouterr().err == f"imported 5 messages into {second}\n"
    assert opaque_of(second) == opaque_of(first)
    assert run("verify", second) == 0


async def test_native_histograms_go_through_a_running_archive(tmp_path: Path) -> None:
    first = tmp_path / "first"
    await asyncio.to_thread(exported_opaque, first, tmp_path)
    async with archiving(tmp_path) as archive:
        words = ["import", archive.url, "--opaque", str(tmp_path / "lines")]
        assert await asyncio.to_thread(run, *words) == 0
        assert await archive.stop() == 0
    found = await asyncio.to_thread(opaque_of, archive.data)
    # By 1.0, where the metadata of a series becomes that of its family.
    family = write_metadata(Metadata("up", "gauge", "is up", ""))
    was = [row for row in await asyncio.to_thread(opaque_of, first) if row[1] != "up/a"]
    assert found == sorted([*was, ("metadata", "None", "None", family)])


def line_of(**other: object) -> str:
    data = base64.b64encode(Histogram(MONDAY).encoded()).decode()
    line = {"kind": "histogram", "labels": {"__name__": "h"}, "time": MONDAY, "data": data}
    return json.dumps({**line, **other})


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("{", "line 2: Input data was truncated"),
        (line_of(kind="sample"), "line 2: Invalid enum value 'sample'"),
        (line_of(labels=None), "line 2: a histogram without labels"),
        (line_of(labels={"job": "x"}), "line 2: no metric name"),
        (line_of(time=-1), "line 2: Expected `int` >= 0"),
        (line_of(time=253_370_764_800_000), "line 2: Expected `int` <= 253370764799999"),
        (line_of(data="!"), "line 2: the data is not base64"),
        (line_of(data="CAE"), "line 2: the data is not base64"),
        (line_of(data="/////w=="), "line 2: "),
        (line_of(more=1), "line 2: Object contains unknown field `more`"),
    ],
)
def test_a_bad_line_of_opaque_messages_is_named(
    line: str, output: str, tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / "lines"
    path.write_text(f"{line_of()}\n{line}\n")
    assert run("import", tmp_path / "data", "--opaque", path) == 2
    error = capsys.readouterr().err
    assert f"{path}: {output}" in error
    assert error.count("\n") == 1


# --- other servers with Prometheus' query API -----------------------------------------------------

PRECISE = [
    *(("c_total", MONDAY + place * MINUTE, float(place)) for place in range(180)),
    *(("ratio/b", MONDAY + place * 119, place / 8) for place in range(30_000)),
]


@pytest.fixture(scope="module")
def victoria() -> Path:
    """VictoriaMetrics, which has the query API and no remote read."""
    program = victoria_program()
    if program is None:
        pytest.skip("no VictoriaMetrics")
    return program


@asynccontextmanager
async def running_victoria(program: Path, folder: Path, *flags: str) -> AsyncIterator[str]:
    port = await asyncio.to_thread(free_port)
    child = Child("victoria-metrics", folder / "victoria.log")
    await child.start(
        str(program),
        f"-storageDataPath={folder / 'victoria'}",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-retentionPeriod=100y",
        *flags,
    )
    try:
        await wait_until_ready(child, f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        await child.stop()


async def test_a_victoria_metrics_is_read_by_its_query_api(victoria: Path, tmp_path: Path) -> None:
    span = ("--from", "2026-09-27T23:00", "--to", "2026-09-29T01:00")
    # So little that it refuses a whole hour of a series: the window must be halved.
    async with running_victoria(victoria, tmp_path, "-search.maxSamplesPerQuery=20000") as address:
        target = ServerTarget(address, {})
        await target.add(ImportBatch([series(name, PRECISE) for name in ("c_total", "ratio/b")]))
        await target.close()
        async with aiohttp.ClientSession() as client:  # what came last is not searched at once
            await (await client.get(f"{address}/internal/force_flush")).read()
        for way in ("default", "query"):
            via = [] if way == "default" else ["--via", way]
            words = ["import", str(tmp_path / way), "--prometheus", address, *via, *span]
            assert await asyncio.to_thread(run, *words) == 0
            found = await asyncio.to_thread(published_samples, tmp_path / way)
            assert found == truth_of(PRECISE), way


def test_what_is_no_text_is_named(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "bytes").write_bytes(b"up 1 2\n\xff\n")
    for name, output in (("bytes", "is not UTF-8"), ("missing", "No such file")):
        path = tmp_path / name
        assert run("import", tmp_path / "data", "--openmetrics", path) == 2
        assert f"--openmetrics: {path}: {output}" in capsys.readouterr().err


def test_a_server_that_is_not_there_is_named(tmp_path: Path, capsys: Output) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    assert run("import", tmp_path / "data", "--prometheus", address) == 2
    assert address in capsys.readouterr().err


async def test_a_running_archive_takes_an_import_by_remote_write(tmp_path: Path) -> None:
    data, text = tmp_path / "data", tmp_path / "text"
    await asyncio.to_thread(text.write_text, TEXT)
    port = await asyncio.to_thread(free_port)
    address = f"127.0.0.1:{port}"
    command = f"import sys; from archive.main import main; sys.exit(main({['--data', str(data), '--web.listen-address', address]!r}))"
    child = Child("archive", tmp_path / "archive.log")
    await child.start(sys.executable, "-c", command)
    try:
        await wait_until_ready(child, f"http://{address}/-/ready")
        words = ["import", f"http://{address}", "--openmetrics", str(text)]
        assert await asyncio.to_thread(run, *words) == 0
        # The log of a server at work, which reads nothing but what is durable.
        assert await asyncio.to_thread(run, "verify", data) == 0
        assert await asyncio.to_thread(run, "export", data, "--output", tmp_path / "out") == 0
        exported = await asyncio.to_thread((tmp_path / "out").read_text)
        assert 'up{instance="a"} 1500 1790553602\n' in exported
    finally:
        await child.stop()
    assert len(await asyncio.to_thread(published_samples, data)) == 3
    tables = {row[0] for row in await asyncio.to_thread(opaque_of, data)}
    assert tables == {"metadata", "exemplars"}
