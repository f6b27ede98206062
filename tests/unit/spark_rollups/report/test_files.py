"""The files of the report: pages without scripts, limited tables, equal content of CSV and JSON."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.rollups.literal_rollups import LiteralRollups
from support.rollups.report_month import (
    CONSUMER,
    MADE,
    MONTH,
    NOVEMBER,
    STREAM,
    csv_texts,
    healthy,
    json_text,
    report_of,
    with_everything,
)

from exporter import catalog as c
from spark_rollups.report.delivery import OwnerRule, ReportSettings
from spark_rollups.report.facts.forecasts import ExpectedLevel
from spark_rollups.report.figures import Fan, Figure
from spark_rollups.report.formatting import clean
from spark_rollups.report.main import build_report, main
from spark_rollups.report.model import Column, Report, Row, Table
from spark_rollups.report.render import figure_html, html_report
from spark_rollups.rollup.tables.reader import open_rollups

HOSTILE = "<script>alert(1)</script>\"'&\u202egnp.exe\x00"
VOID = {"meta", "br", "rect", "line", "circle", "polyline", "polygon"}


class Shape(HTMLParser):
    """Which elements there are, whether they close, and what they point to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        found = dict(attrs)
        self.addresses += [found[key] or "" for key in ("href", "src") if key in found]
        self.ids += [found["id"] or ""] if "id" in found else []
        self.faults += [key for key in found if key.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")


def shape(page: str) -> Shape:
    found = Shape()
    found.feed(page)
    return found


@pytest.fixture(scope="module")
def bad() -> Report:
    """A month with a bit of everything, and a name that wants to run."""
    return report_of(with_everything(HOSTILE))


def test_a_page_is_complete_and_loads_nothing(bad: Report) -> None:
    found = shape(html_report(bad, 25, "csv"))
    assert (found.faults, found.open) == ([], [])
    assert not set(found.seen) & {"script", "link", "img", "iframe", "form", "object", "base"}
    assert all(address.startswith("#") for address in found.addresses)
    assert {address[1:] for address in found.addresses} <= set(found.ids)
    assert len(set(found.ids)) == len(found.ids)


def test_hostile_names_stand_on_the_page_as_text(bad: Report) -> None:
    page = html_report(bad, 25, "csv")
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\u202e" not in page
    assert "\x00" not in page


def test_unseen_characters_become_visible() -> None:
    assert clean("a\u202eb\x07c\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert clean("Größe 日本 ✓\ttab") == "Größe 日本 ✓\ttab"


def test_a_page_has_light_dark_and_paper(bad: Report) -> None:
    page = html_report(bad, 25, "csv")
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert 'content: "Capacity report November 2026"' in page
    assert "url(" not in page


def many(rows: int) -> Report:
    report = report_of(healthy())
    table = Table(
        "many", "Many", (Column("name", "Name"),), (Column("n", "N"),),
        [Row((f"row-{number}", str(number))) for number in range(rows)],
    )  # fmt: skip
    return replace(report, chapters=(replace(report.chapters[0], tables=(table,)),))


def test_a_long_table_ends_with_a_link_to_its_file() -> None:
    page = html_report(many(337), 25, "report-2026-11-csv")
    assert page.count("<b>row-") == 25
    assert "And 312 more in <code>report-2026-11-csv/many.csv</code>." in page
    files = csv_texts(many(337))
    assert len(files["many.csv"].splitlines()) == 338


def test_findings_of_one_code_end_too() -> None:
    rollups = healthy()
    for number in range(13):
        index = {**STREAM, "consumer": f"c{number}"}
        rollups.counter(c.CONSUMER_LOST_MESSAGES, NOVEMBER, number + 1, **index)
    page = html_report(report_of(rollups), 25, "csv")
    block = page[page.index('id="CON-MESSAGES-LOST"') :].split("</article>")[0]
    assert block.count("<li ") == 10
    assert "And 3 more in <code>csv/findings.csv</code>." in block


def test_unknown_is_a_word_on_the_page_and_empty_in_files() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.CONSUMER_UP, NOVEMBER, 1, **CONSUMER)
    rollups.gauge(c.CONSUMER_NUM_ACK_PENDING, NOVEMBER, 3, **CONSUMER)
    report = report_of(rollups)
    row = next(csv.DictReader(io.StringIO(csv_texts(report)["consumers.csv"])))
    assert (row["lag_seconds"], row["lost"]) == ("", "")
    sizing = next(csv.DictReader(io.StringIO(csv_texts(report)["sizing_consumers.csv"])))
    assert (sizing["max_ack_pending"], sizing["ack_pending_peak"]) == ("unlimited", "3")
    page = html_report(report, 25, "csv")
    chapter = page[page.index('id="consumers"') : page.index('id="servers"')]
    assert "<i>unknown</i>" in chapter
    loaded = json.loads(json_text(report))
    assert loaded["tables"]["consumers"]["rows"][0]["lag_seconds"] is None
    assert loaded["tables"]["sizing_consumers"]["rows"][0]["max_ack_pending"] == "unlimited"


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "\tx"])
def test_no_spreadsheet_runs_a_name(name: str) -> None:
    rollups = healthy()
    rollups.gauge(c.STREAM_BYTES, NOVEMBER, 1, account="APP", stream=name)
    text = csv_texts(report_of(rollups))["streams.csv"]
    assert f"'{name}" in [row["stream"] for row in csv.DictReader(io.StringIO(text))]


def test_numbers_in_csv_stay_numbers(bad: Report) -> None:
    row = next(csv.DictReader(io.StringIO(csv_texts(bad)["limits.csv"])))
    assert float(row["level"]) == 16 * 2**30
    assert row["likely"] == "2026-12-10"
    growth = csv_texts(report_of(healthy()))["streams.csv"]
    assert "'" not in growth


def test_json_has_everything_and_is_strict(bad: Report) -> None:
    loaded = json.loads(json_text(bad), parse_constant=lambda word: pytest.fail(word))
    assert (loaded["format"], loaded["month"]) == (2, "2026-11")
    assert set(loaded["tables"]) == {table.key for table in bad.tables()}
    first = loaded["findings"][0]
    assert {
        "code",
        "severity",
        "subject",
        "summary",
        "evidence",
        "by",
        "remedy",
        "commands",
    } <= set(first)
    assert loaded["summary"]["headline"].startswith("Due today: ")
    assert loaded["actions"][0]["by"] == "today"


def test_a_report_of_the_same_month_is_the_same_text() -> None:
    first, second = report_of(healthy()), report_of(healthy())
    assert html_report(first, 25, "csv") == html_report(second, 25, "csv")
    assert json_text(first) == json_text(second)


# --- pictures -------------------------------------------------------------------------------------


def fan(limit: float | None) -> str:
    days = tuple((date(2026, 11, day), float(day)) for day in (1, 2, 3, 7, 8))
    ahead = (ExpectedLevel(date(2026, 12, 8), 9.0, 10.0, 12.0),)
    drawn = Fan("S", "", "soon", days, ahead, limit, is_bytes=False)
    return figure_html(Figure("fans", "", "", fans=(drawn,)))


def test_a_gap_breaks_the_line() -> None:
    assert fan(20).count('class="past"') == 2


def test_a_limit_far_above_does_not_flatten_the_picture() -> None:
    assert 'class="limit"' in fan(40)
    assert 'class="limit"' not in fan(4000)
    assert "above the chart" in fan(4000)
    assert "limit" not in fan(None)


def test_no_limit_runs_through_the_newest_value() -> None:
    """The value is 8; its text is as high as 12 units of the picture."""
    for limit in (7.0, 8.0, 8.5, 9.0, 9.5, 10.0, 12.0):
        (line,) = re.findall(r'<line class="limit" [^>]*y1="([0-9.]+)"', fan(limit))
        (baseline,) = re.findall(r'<text class="value" [^>]*y="([0-9.]+)"', fan(limit))
        assert not float(baseline) - 12 < float(line) < float(baseline) + 2, limit


def test_all_points_lie_within_the_picture() -> None:
    numbers = re.findall(r"([\d.]+),([\d.]+)", fan(20))
    assert len(numbers) > 8
    assert all(0 <= float(x) <= 320 and 0 <= float(y) <= 150 for x, y in numbers)


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    index = tmp_path_factory.mktemp("rollups")
    healthy().write(index)
    return index


def test_the_command_writes_the_page_the_tables_and_the_data(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["--rollups", str(folder), "--month", "2026-11", "--out", str(out)]) == 0
    output = capsys.readouterr().out
    assert f"wrote {out}/report-2026-11.html" in output
    assert "findings: 0 critical, 0 warning, 0 note" in output
    assert max(len(line) for line in output.splitlines() if not line.startswith("wrote")) <= 80
    page = (out / "report-2026-11.html").read_text()
    named = set(re.findall(r"<code>(report-2026-11-csv/[\w.]+)</code>", page))
    assert len(named) > 5
    assert all((out / name).is_file() for name in named)
    assert json.loads((out / "report-2026-11.json").read_text())["format"] == 2


@pytest.mark.slow
def test_files_and_memory_give_the_same_report(folder: Path) -> None:
    read = report_of(open_rollups(str(folder)))
    assert json_text(read) == json_text(report_of(healthy()))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--month", "2026-13"], "month 2026-13: not of the form YYYY-MM, like 2026-11"),
        (["--month", "2031-01"], "month 2031-01: the rollups have no data of this month; they have "
         "2026-10-01 to 2026-11-30"),
        (["--month", "2026-11", "--set", "clock_offset=soon"], "clock_offset=soon: is not a difference of times like 1s"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    fault: str,
) -> None:
    assert main(["--rollups", str(folder), "--out", str(tmp_path / "out"), *arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if " s  " not in line]
    assert [line.startswith(f"streamgauge report: {fault}") for line in lines] == [True]
    assert not (tmp_path / "out").exists()


def test_a_folder_without_rollups_is_an_error_that_names_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--rollups", str(tmp_path), "--month", "2026-11", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"streamgauge report: {tmp_path}: no rollups here; `streamgauge rollup` writes them\n"
    )


def test_a_place_that_cannot_be_written_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    arguments = ["--rollups", str(folder), "--month", "2026-11", "--out", str(tmp_path / "file")]
    assert main(arguments) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


@pytest.mark.parametrize("rows", ["0", "1001", "many"])
def test_an_invalid_number_of_rows_is_an_error(
    rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--rollups", "x", "--month", "2026-11", "--out", "y", "--rows", rows])
    assert caught.value.code == 2
    assert f"{rows}: not a number from 1 to 1000" in capsys.readouterr().err


def test_findings_of_the_page_are_grouped_by_owner() -> None:
    rollups = with_everything("x")
    rules = (OwnerRule(stream="ORDERS", team="sales"), OwnerRule(stream="x", team="billing"))
    page = html_report(
        build_report(rollups, MONTH, MADE, settings=ReportSettings(owners=rules)), 25, "csv"
    )
    _, _, findings = page.partition('id="findings"')
    heads = re.findall(r'<h3 class="owner">(.*?)</h3>', findings)
    assert [head.split(" <")[0] for head in heads] == ["billing", "sales", "no owner set"]
    shape = Shape()
    shape.feed(page)
    assert len(shape.ids) == len(set(shape.ids))
