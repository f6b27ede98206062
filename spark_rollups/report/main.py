"""`streamgauge report`: writes the monthly capacity report, and sends it."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

from alerts import thresholds
from alerts.quantity import ThresholdError
from spark_rollups.filesystem import RollupError
from spark_rollups.report.build import build_report
from spark_rollups.report.chapters.owners import for_owner
from spark_rollups.report.command_line import parser
from spark_rollups.report.delivery import prepared
from spark_rollups.report.findings.finding import Severity
from spark_rollups.report.formatting import clean
from spark_rollups.report.messages import DeliveryError
from spark_rollups.report.model import Report
from spark_rollups.report.month import ReportError, parse_month, progress_lines
from spark_rollups.report.settings import read_settings
from spark_rollups.rollup.tables.reader import open_rollups
from streamgauge.serving.settings.loader import SettingsError

_EXIT_ERROR = 2
_EXIT_NOT_SENT = 3  # the files are written
_WIDTH = 79


def main(argv: Sequence[str] | None = None, made: datetime | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        _run(arguments, made or datetime.now(UTC))
    except (ReportError, RollupError, SettingsError, ThresholdError) as error:
        sys.stderr.write(f"streamgauge report: {error}\n")
        return _EXIT_ERROR
    except DeliveryError as error:
        sys.stderr.write(f"streamgauge report: not sent: {error}\n")
        return _EXIT_NOT_SENT
    except KeyboardInterrupt:
        return 130
    return 0


def _run(arguments: argparse.Namespace, made: datetime) -> None:
    progress = progress_lines()
    month = parse_month(arguments.month, made.date())
    chosen = thresholds.overridden(arguments.assignments, of_exporter=True)
    settings = read_settings(arguments.config)
    delivery = prepared(arguments, settings, progress)
    rollups = open_rollups(arguments.rollups)
    progress(f"reading {rollups.root}")
    report = build_report(rollups, month, made, chosen, settings, progress)
    if arguments.owner:
        report = for_owner(report, arguments.owner)
    progress("writing files")
    written = delivery.write(report, arguments.rows)
    _print_summary(report)
    for name in written:
        sys.stdout.write(f"wrote {delivery.root}/{name}\n")
    delivery.send(report)
    # The alert is about the newest report of the whole system.
    if not arguments.owner and month >= parse_month("last", made.date()):
        delivery.record_success()


def _print_summary(report: Report) -> None:
    # textwrap does not break at non-breaking spaces.
    headline = clean(f"{report.month.title}: {report.front.headline}").replace("\u00a0", " ")
    sys.stdout.write(textwrap.fill(headline, _WIDTH) + "\n")
    today = sum(action.by is None for action in report.actions)
    sys.stdout.write(f"actions: {today} today, {len(report.actions) - today} later\n")
    counts = (
        f"{sum(finding.severity is severity for finding in report.findings)} {severity.value}"
        for severity in Severity
    )
    sys.stdout.write(f"findings: {', '.join(counts)}\n")


if __name__ == "__main__":
    sys.exit(main())
