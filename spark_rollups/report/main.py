"""`streamgauge report`: writes the monthly capacity report as HTML, CSV and JSON."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

from alerts import thresholds
from alerts.quantity import ThresholdError
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.report.build import build_report
from spark_rollups.report.charts.markup import clean
from spark_rollups.report.command_line import parser
from spark_rollups.report.export import csv_files, json_text
from spark_rollups.report.facts.cached_rollups import CachedRollups
from spark_rollups.report.findings.finding import Severity
from spark_rollups.report.model import Report
from spark_rollups.report.month import ReportError, parse_month
from spark_rollups.report.progress import progress_lines
from spark_rollups.report.render import html_report
from spark_rollups.report.settings import read_settings
from spark_rollups.rollup.tables.reader import open_rollups
from streamgauge.serving.settings.loader import SettingsError

_EXIT_ERROR = 2
_WIDTH = 79


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        _write(arguments)
    except (ReportError, RollupError, SettingsError, ThresholdError) as error:
        sys.stderr.write(f"streamgauge report: {error}\n")
        return _EXIT_ERROR
    except KeyboardInterrupt:
        return 130
    return 0


def _write(arguments: argparse.Namespace) -> None:
    progress = progress_lines()
    month = parse_month(arguments.month)
    chosen = thresholds.overridden(arguments.assignments, of_exporter=True)
    settings = read_settings(arguments.config)
    rollups = open_rollups(arguments.rollups)
    progress(f"reading {rollups.root}")
    source, made = CachedRollups(rollups), datetime.now(UTC)
    report = build_report(source, month, made, chosen, settings, progress)
    root, stem = Root(arguments.out), f"report-{month}"
    progress("writing files")
    # The page is written last, so that the files it names exist.
    for name, text in csv_files(report).items():
        root.write(f"{stem}-csv/{name}", text.encode())
    root.write(f"{stem}.json", json_text(report).encode())
    page = html_report(report, arguments.rows, f"{stem}-csv")
    root.write(f"{stem}.html", page.encode())
    _print_summary(report)
    for name in (f"{stem}.html", f"{stem}.json", f"{stem}-csv"):
        sys.stdout.write(f"wrote {root}/{name}\n")


def _print_summary(report: Report) -> None:
    # textwrap does not break at non-breaking spaces.
    headline = clean(f"{report.month.title}: {report.front.headline}").replace("\u00a0", " ")
    sys.stdout.write(textwrap.fill(headline, _WIDTH) + "\n")
    counts = (
        f"{sum(finding.severity is severity for finding in report.findings)} {severity.value}"
        for severity in Severity
    )
    sys.stdout.write(f"findings: {', '.join(counts)}\n")


if __name__ == "__main__":
    sys.exit(main())
