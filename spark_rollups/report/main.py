"""`streamgauge report`: the monthly capacity report as HTML, CSV and JSON, out of the rollups."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

from alerts import thresholds
from alerts.quantity import ThresholdError
from spark_rollups.filesystem import Place, RollupError
from spark_rollups.report.build import build_report
from spark_rollups.report.command_line import parser
from spark_rollups.report.facts.cached_rollups import RememberedRollups
from spark_rollups.report.findings.finding import Severity
from spark_rollups.report.model import Report
from spark_rollups.report.month import ReportError, parse_month
from spark_rollups.report.rendering.csv_json import csv_files, json_text
from spark_rollups.report.rendering.html_document import html_report
from spark_rollups.report.rendering.markup import clean
from spark_rollups.rollup.tables.reader import open_rollups

_FAULTY = 2
_WIDTH = 79


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        _write(arguments)
    except (ReportError, RollupError, ThresholdError) as error:
        sys.stderr.write(f"streamgauge report: {error}\n")
        return _FAULTY
    except KeyboardInterrupt:
        return 130
    return 0


def _write(arguments: argparse.Namespace) -> None:
    month = parse_month(arguments.month)
    chosen = thresholds.overridden(arguments.assignments)
    rollups = open_rollups(arguments.rollups)
    _say(f"reading {rollups.place}")
    report = build_report(RememberedRollups(rollups), month, datetime.now(UTC), chosen)
    place, stem = Place(arguments.out), f"report-{month}"
    # The page comes last: whoever sees it finds the files that it names.
    for name, text in csv_files(report).items():
        place.write(f"{stem}-csv/{name}", text.encode())
    place.write(f"{stem}.json", json_text(report).encode())
    page = html_report(report, arguments.rows, f"{stem}-csv")
    place.write(f"{stem}.html", page.encode())
    _tell(report)
    for name in (f"{stem}.html", f"{stem}.json", f"{stem}-csv"):
        sys.stdout.write(f"wrote {place}/{name}\n")


def _tell(report: Report) -> None:
    # Non-breaking spaces would keep a terminal from wrapping at all.
    headline = clean(f"{report.month.title}: {report.front.headline}").replace("\u00a0", " ")
    sys.stdout.write(textwrap.fill(headline, _WIDTH) + "\n")
    counts = (
        f"{sum(finding.severity is severity for finding in report.findings)} {severity.value}"
        for severity in Severity
    )
    sys.stdout.write(f"findings: {', '.join(counts)}\n")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
