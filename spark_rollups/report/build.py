"""Builds a report from the rollups: facts, findings, actions, then chapters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from alerts import thresholds as t
from alerts.quantity import Threshold
from spark_rollups.report.actions import actions_of, with_dates_and_owners
from spark_rollups.report.chapters import (
    capacity,
    changed,
    data_quality,
    front_page,
    servers,
)
from spark_rollups.report.chapters.consumers import (
    abandoned_chapter,
    configuration_chapter,
    consumers_chapter,
    sizing_chapter,
)
from spark_rollups.report.chapters.owners import owners_chapter
from spark_rollups.report.facts.assets import Source
from spark_rollups.report.facts.consumers import consumer_month, current_state, sizing_of
from spark_rollups.report.facts.events import events_of, failing_checks, rejections_of
from spark_rollups.report.facts.monthly_facts import read_facts
from spark_rollups.report.facts.owners import owned_assets, owners_of
from spark_rollups.report.facts.polls import request_gaps, restart_days
from spark_rollups.report.facts.stores import scenarios_of, stores_of
from spark_rollups.report.facts.year import checked_forecasts, year_of
from spark_rollups.report.findings import rules
from spark_rollups.report.findings.capacity import capacity_findings
from spark_rollups.report.findings.finding import by_urgency
from spark_rollups.report.model import Report
from spark_rollups.report.month import Month, Progress, silent
from spark_rollups.report.settings import ReportSettings


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
    consumers, sizing = consumer_month(facts, progress), sizing_of(facts)
    at_end = current_state(facts)
    progress("reading events")
    started = restart_days(facts)
    events, checks = events_of(facts, started), failing_checks(facts)
    rejections, gaps = rejections_of(facts), request_gaps(facts)
    progress("reading the year")
    year = year_of(facts)
    progress("looking for findings")
    findings = by_urgency(
        [
            *capacity_findings(facts, stores),
            *rules.consumer_findings(facts, consumers, at_end, sizing, stores),
            *rules.server_findings(facts),
            *rules.publishing_findings(facts, rejections),
            *rules.change_findings(facts, events),
            *rules.configuration_findings(facts, checks, owners),
            *rules.data_findings(facts, gaps),
        ]
    )
    actions = actions_of(facts, findings, at_end, owners, stores, made.date())
    findings = with_dates_and_owners(findings, actions, owners, facts.as_of)
    progress("writing chapters")
    front = front_page.front_page(facts, consumers, findings, actions)
    all_owners = owned_assets(facts, owners)
    chapters = (
        owners_chapter(facts, all_owners, actions),
        capacity.scenarios_chapter(facts, scenarios_of(facts, stores)),
        changed.months_chapter(facts, front),
        capacity.year_chapter(facts, year),
        capacity.capacity_chapter(facts),
        servers.streams_chapter(facts),
        consumers_chapter(facts, consumers),
        servers.servers_chapter(facts, started),
        servers.clocks_chapter(facts),
        servers.publishing_chapter(facts, rejections),
        abandoned_chapter(facts),
        configuration_chapter(facts, checks),
        sizing_chapter(facts, sizing),
        changed.changes_chapter(facts, events),
        data_quality.quality_chapter(facts, consumers, gaps),
        data_quality.method_chapter(facts, checked_forecasts(facts)),
    )
    return Report(
        month, made, facts.system_names(), facts.days, front, actions, findings, chapters, all_owners
    )  # fmt: skip
