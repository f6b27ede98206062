"""inspect, verify and export on archives that the real publisher wrote, with the log beside them."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from support.archive.folder import (
    HOUR,
    MONDAY,
    STALE,
    ArchiveFolder,
    Reported,
    published_samples,
    truth_of,
)

from archive.batch import OpaqueKind
from archive.progress import NoProgress
from archive.tools.cli import main
from archive.tools.inspecting.contents import ArchiveContents
from archive.tools.opaque_messages import Exemplar, Metadata, write_exemplar, write_metadata
from streamgauge.demo.processes.programs import Programs, prometheus

MINUTE = 60_000
PUBLISHED: list[Reported] = [
    *(("c_total", MONDAY + place * MINUTE, float(place)) for place in range(90)),
    *(("temperature/b", MONDAY + place * MINUTE, 20 + place / 8) for place in range(30)),
    ("temperature/b", MONDAY + 31 * MINUTE, STALE),
]
WAITING: list[Reported] = [
    ("c_total", MONDAY + 3 * HOUR, 200.0),
    ("temperature/b", MONDAY + 3 * HOUR, float("nan")),
    ("temperature/b", MONDAY + 3 * HOUR + MINUTE, float("-inf")),
]
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two published hours, one that waits in the log of a process that is still running."""
    path = tmp_path_factory.mktemp("archive")
    with ArchiveFolder(path) as folder:
        metadata = Metadata("c_total", "counter", 'counts "things"\nor so', "")
        exemplar = Exemplar((("trace", "abc"),), 2.5, MONDAY + 90_500)
        folder.send(
            PUBLISHED,
            opaque=(
                (OpaqueKind.METADATA, None, 0, write_metadata(metadata)),
                (OpaqueKind.EXEMPLAR, "c_total", MONDAY + 90_500, write_exemplar(exemplar)),
                (OpaqueKind.HISTOGRAM, "h", MONDAY + 5, b"buckets"),
            ),
        )
        folder.publish_all()
        folder.send(WAITING)
        yield path


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    with ArchiveFolder(tmp_path) as folder:
        folder.send(PUBLISHED)
        folder.publish_all()
    return tmp_path


@pytest.fixture(scope="module")
def promtool() -> Programs:
    found = prometheus()
    if found is None:
        pytest.skip("Prometheus cannot be had here")
    return found


def test_inspect_counts_what_is_published_and_what_waits(archive: Path, capsys: Output) -> None:
    assert main(["inspect", str(archive), "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["samples"] == len(PUBLISHED) + len(WAITING)
    assert reported["log"]["samples"] == len(WAITING)
    assert (reported["series"], reported["metrics"]) == (3, 3)
    assert [(day["day"], day["hours"], day["series"]) for day in reported["days"]] == [
        ("2026-09-28", 3, 2)
    ]


def test_inspect_finds_the_gap_to_the_minute(archive: Path, capsys: Output) -> None:
    assert main(["inspect", str(archive), "--json", "--gap", "10m"]) == 0
    found = json.loads(capsys.readouterr().out)["gaps"]
    assert found == [{"from": MONDAY + 90 * MINUTE, "to": MONDAY + 3 * HOUR}]


def test_gaps_are_whole_minutes_without_a_sample(tmp_path: Path) -> None:
    minutes = [0, 1, 3, 59, 120, 127]
    with ArchiveFolder(tmp_path) as folder:
        folder.send([("up", MONDAY + minute * MINUTE + 5, 1.0) for minute in minutes[:4]])
        folder.send([("up", MONDAY + minute * MINUTE, STALE) for minute in minutes[4:]])
        folder.publish_all()
        contents = ArchiveContents(folder.tables.storage, folder.snapshot, NoProgress())
    found = [
        ((gap.start - MONDAY) // MINUTE, (gap.end - MONDAY) // MINUTE)
        for gap in contents.gaps(5 * MINUTE)
    ]
    assert found == [(4, 59), (60, 120), (121, 127)]
    assert len(list(contents.gaps(1))) == 4
    assert contents.samples == len(minutes)


def test_inspect_finds_hours_that_one_sender_missed(tmp_path: Path, capsys: Output) -> None:
    with ArchiveFolder(tmp_path) as folder:
        for hour in (0, 1, 2, 3):
            folder.send([("up/a", MONDAY + hour * HOUR, 1.0)])
        folder.send([("up/b", MONDAY, 1.0), ("up/b", MONDAY + 3 * HOUR, 1.0)])
        folder.publish_all()
    assert main(["inspect", str(tmp_path), "--json", "--by", "instance"]) == 0
    assert json.loads(capsys.readouterr().out)["gaps_by_label"] == [
        {"value": "b", "from": MONDAY + HOUR, "to": MONDAY + 3 * HOUR}
    ]


def test_inspect_fits_eighty_columns_and_has_no_control_codes(
    archive: Path, capsys: Output
) -> None:
    assert main(["inspect", str(archive)]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert max(map(len, lines[1:])) <= 80  # the first has the archive's own path
    assert "2026-09-28 01:30 to 2026-09-28 03:00, 90 minutes" in output.out
    assert output.err == ""
    assert output.out.replace("\n", "").isprintable()


def test_reading_tools_change_nothing(archive: Path, capsys: Output) -> None:
    before = {path: path.stat().st_mtime_ns for path in archive.rglob("*")}
    for words in (["inspect"], ["verify"], ["export"]):
        assert main([*words, str(archive)]) == 0
    assert {path: path.stat().st_mtime_ns for path in archive.rglob("*")} == before
    capsys.readouterr()


def test_verify_finds_nothing_wrong_with_what_the_publisher_wrote(
    archive: Path, capsys: Output
) -> None:
    assert main(["verify", str(archive)]) == 0
    output = capsys.readouterr().out
    assert output.startswith("days: 1, files: 10, ")
    assert output.endswith("5 series hours: no fault\n")


@pytest.mark.parametrize("table", ["samples", "hourly", "series"])
def test_verify_finds_a_flipped_bit(damaged: Path, table: str, capsys: Output) -> None:
    path = next(path for path in (damaged / table).rglob("*.parquet") if "_delta" not in str(path))
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    data = bytearray(path.read_bytes())
    first = column.dictionary_page_offset or column.data_page_offset
    data[first + column.total_compressed_size - 1] ^= 1
    path.write_bytes(data)
    assert main(["verify", str(damaged)]) == 1
    assert f"FAULT: {path.relative_to(damaged)}: " in capsys.readouterr().out


def test_verify_finds_a_missing_and_an_unknown_file(damaged: Path, capsys: Output) -> None:
    first, *_ = sorted((damaged / "samples").rglob("*.parquet"))
    first.rename(first.with_name("99-0000000001-0.parquet"))
    assert main(["verify", str(damaged)]) == 1
    output = capsys.readouterr().out
    assert re.search(rf"FAULT: \S*{first.name}: cannot read", output)
    assert "note: samples: 1 files are not in the table" in output
    assert "such as samples/day=2026-09-28/99-0000000001-0.parquet" in output


def test_verify_finds_a_damaged_segment(damaged: Path, capsys: Output) -> None:
    with ArchiveFolder(damaged) as folder:
        for value in range(3):
            folder.send([("late", MONDAY + value, float(value))])
    (segment,) = (damaged / "wal").glob("*.wal")
    data = bytearray(segment.read_bytes())
    data[-5] ^= 1
    segment.write_bytes(data)
    assert main(["verify", str(damaged)]) == 1
    assert f"FAULT: {segment.name}: has a record whose checksum is wrong" in capsys.readouterr().out


def test_export_is_openmetrics_to_the_strictest_parser(archive: Path, capsys: Output) -> None:
    assert main(["export", str(archive)]) == 0
    output = capsys.readouterr()
    families = {each.name: each for each in text_string_to_metric_families(output.out)}
    counter = families["c"]
    assert (counter.type, counter.documentation) == ("counter", 'counts "things"\nor so')
    samples = {float(str(each.timestamp)): each for each in counter.samples}
    assert len(samples) == 91
    exemplar = samples[MONDAY / 1000 + 120].exemplar
    assert exemplar is not None
    assert (exemplar.labels, exemplar.value) == ({"trace": "abc"}, 2.5)
    assert len(families["temperature"].samples) == 32
    assert "dropped: 1 stale markers" in output.err


def test_export_chooses_series_and_times(archive: Path, capsys: Output) -> None:
    words = ["--match", 'temperature{instance=~"b|x"}', "--from", "2026-09-28T00:10"]
    assert main(["export", str(archive), *words, "--to", str(MONDAY // 1000 + 12 * 60)]) == 0
    assert capsys.readouterr().out == (
        'temperature{instance="b"} 21.25 1790554200\n'
        'temperature{instance="b"} 21.375 1790554260\n'
        "# EOF\n"
    )


def test_export_writes_opaque_messages_as_json_lines(
    archive: Path, tmp_path: Path, capsys: Output
) -> None:
    files = ["--output", str(tmp_path / "text"), "--opaque", str(tmp_path / "lines")]
    assert main(["export", str(archive), *files]) == 0
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert {line["kind"] for line in lines} == {"metadata", "exemplar", "histogram"}
    (histogram,) = (line for line in lines if line["kind"] == "histogram")
    assert histogram["labels"] == {"__name__": "h", "instance": "a"}
    assert (histogram["time"], histogram["data"]) == (MONDAY + 5, "YnVja2V0cw==")
    assert (tmp_path / "text").read_text().endswith("# EOF\n")
    assert capsys.readouterr().out == ""


def test_promtool_makes_blocks_of_an_export(
    archive: Path, tmp_path: Path, promtool: Programs
) -> None:
    text = tmp_path / "export.txt"
    assert main(["export", str(archive), "--output", str(text)]) == 0
    words = ["tsdb", "create-blocks-from", "openmetrics", str(text), str(tmp_path / "data")]
    subprocess.run([promtool.promtool, *words], check=True, capture_output=True)
    (tmp_path / "data" / "wal").mkdir()  # without one this version of promtool gives up
    dumped = subprocess.run(
        [promtool.promtool, "tsdb", "dump", str(tmp_path / "data")],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert len(dumped.splitlines()) == len(PUBLISHED) + len(WAITING) - 1
    assert f'{{__name__="temperature", instance="b"}} 21.25 {MONDAY + 10 * MINUTE}' in dumped


def test_compact_publishes_the_log_and_merges_days(tmp_path: Path, capsys: Output) -> None:
    reported: list[Reported] = [
        ("up", MONDAY - 30 * 24 * HOUR + hour * HOUR, 1.0) for hour in range(5)
    ]
    with ArchiveFolder(tmp_path) as folder:
        for sample in reported[:4]:
            folder.send([sample])
            folder.publish_all()
        folder.send(reported[4:])
        assert main(["compact", str(tmp_path)]) == 2  # the folder is in use
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["compact", str(tmp_path)]) == 0
    output = capsys.readouterr().err
    assert output == "published 1 samples of 1 hours, merged the files of 1 days\n"
    assert published_samples(tmp_path) == truth_of(reported)
    assert len(list((tmp_path / "samples").rglob("00-04-*.parquet"))) == 1
    assert list((tmp_path / "wal").glob("*.wal")) == []


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["compact", "/nonexistent"], "there is no archive here"),
        (["inspect", "/nonexistent"], "there is no archive here"),
        (["inspect"], "the following arguments are required: DIR"),
        (["inspect", "{archive}", "--gap", "5"], "--gap: '5' is no duration"),
        (["inspect", "{archive}", "--by", "color"], "--by: no series has the label color"),
        (["inspect", "{archive}", "--wal", "/nonexistent"], "there is no such folder"),
        (["export", "{archive}", "--match", "up{job=nats}"], "is not a selector"),
        (["export", "{archive}", "--match", '{a=~"("}'], "is not a regular expression"),
        (["export", "{archive}", "--match", "{}"], "selects nothing"),
        (["export", "{archive}", "--from", "yesterday"], "--from: 'yesterday' is no time"),
        (["export", "{archive}", "--from", "5", "--to", "5"], "--to: 5 is not after 5"),
        (["export", "{archive}", "--output", "/nonexistent/x"], "--output: /nonexistent/x"),
        (
            ["import", "{archive}"],
            "one of the arguments --prometheus --openmetrics --opaque is required",
        ),
        (["dance"], "COMMAND: is none of 'inspect'"),
        (["inspect", "{archive}", "s3cret"], "argument 3: is not a flag"),
        (["export", "{archive}", "--what=s3cret"], "--what: unknown flag (did you mean --wal?)"),
    ],
)
def test_an_input_error_is_one_line_and_exit_code_two(
    words: list[str], output: str, archive: Path, capsys: Output
) -> None:
    assert (
        main([word.format(archive=archive) if "{archive}" in word else word for word in words]) == 2
    )
    error = capsys.readouterr().err
    assert error.startswith("streamgauge: ")
    assert output in error
    assert error.count("\n") == 1


def test_a_damaged_log_of_a_table_is_named(damaged: Path, capsys: Output) -> None:
    (damaged / "samples" / "_delta_log" / f"{1:020}.json").write_text("{")
    assert main(["inspect", str(damaged)]) == 2
    assert f"cannot read table samples in {damaged}: " in capsys.readouterr().err
