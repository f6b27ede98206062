"""`streamgauge report`: builds the monthly capacity report, writes and sends it."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from alerts import thresholds
from alerts import thresholds as t
from alerts.quantity import Threshold, ThresholdError
from spark_rollups.filesystem import RollupError
from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import actions_of, with_dates_and_owners
from spark_rollups.report.chapters import assets, capacity, data_quality, summary
from spark_rollups.report.command_line import parser
from spark_rollups.report.delivery import DeliveryError, ReportSettings, prepared, read_settings
from spark_rollups.report.facts.assets import Source
from spark_rollups.report.facts.events import (
    current_state,
    events_of,
    failing_checks,
    rejections_of,
)
from spark_rollups.report.facts.forecasts import checked_forecasts, year_of
from spark_rollups.report.facts.monthly_facts import read_facts, request_gaps
from spark_rollups.report.facts.owners import owned_assets, owners_of
from spark_rollups.report.facts.stores import scenarios_of, stores_of
from spark_rollups.report.findings import rules
from spark_rollups.report.findings.capacity import capacity_findings
from spark_rollups.report.findings.finding import Severity, by_urgency
from spark_rollups.report.formatting import clean
from spark_rollups.report.model import Report
from spark_rollups.report.month import (
    Month,
    Progress,
    ReportError,
    parse_month,
    progress_lines,
    silent,
)
from spark_rollups.rollup.tables.reader import open_rollups
from streamgauge.serving.settings.loader import SettingsError


def build_report(
    source: Source,
    month: Month,
    made: datetime,
    thresholds: Mapping[str, Threshold] = t.BY_NAME,
    settings: ReportSettings | None = None,
    progress: Progress = silent,
) -> Report:
    settings = settings or ReportSettings()
    facts = read_facts(source, month, thresholds, progress)
    stores, owners = stores_of(facts), owners_of(facts, settings.owners)
    # Read now, so that the progress shows it.
    consumers = fmt.plural(len(facts.consumers.now), "consumer")
    for what, column in (
        ("states", "states"),
        ("conditions", "conditions"),
        ("lag", "lag_seconds_usual"),
    ):
        progress(f"reading {what} of {consumers}")
        _ = facts.consumers[column]
    at_end = current_state(facts)
    progress("reading events")
    events, checks = events_of(facts), failing_checks(facts)
    rejections, gaps = rejections_of(facts), request_gaps(facts)
    progress("reading the year")
    year = year_of(source, month)
    progress("looking for findings")
    findings = by_urgency(
        [
            *capacity_findings(facts, stores),
            *rules.consumer_findings(facts, at_end, stores),
            *rules.server_findings(facts),
            *rules.stream_findings(facts, rejections),
            *rules.change_findings(facts, events),
            *rules.configuration_findings(facts, checks, owners),
            *rules.data_findings(facts, gaps),
        ]
    )
    actions = actions_of(facts, findings, at_end, owners, stores, made.date())
    findings = with_dates_and_owners(findings, actions, owners, facts.as_of)
    progress("writing chapters")
    front = summary.front_page(facts, findings, actions)
    all_owners = owned_assets(facts, owners)
    chapters = (
        summary.owners_chapter(facts, all_owners, actions),
        capacity.scenarios_chapter(facts, scenarios_of(facts, stores)),
        summary.months_chapter(facts, front),
        capacity.year_chapter(facts, year),
        capacity.capacity_chapter(facts),
        assets.streams_chapter(facts),
        assets.consumers_chapter(facts),
        assets.servers_chapter(facts),
        assets.clocks_chapter(facts),
        assets.publishing_chapter(facts, rejections),
        assets.abandoned_chapter(facts),
        assets.configuration_chapter(facts, checks),
        assets.sizing_chapter(facts),
        summary.changes_chapter(facts, events),
        data_quality.quality_chapter(facts, gaps),
        data_quality.method_chapter(
            facts, checked_forecasts(source, facts.forecasts_before, facts.days)
        ),
    )
    return Report(
        month, made, facts.system_names(), facts.days, front, actions, findings, chapters, all_owners
    )  # fmt: skip


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
        report = summary.for_owner(report, arguments.owner)
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
