"""Builds a report from the rollups: facts, findings, actions, then chapters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from alerts import thresholds as t
from alerts.quantity import Threshold
from spark_rollups.report.actions import actions_of, with_dates_and_owners
from spark_rollups.report.chapters.capacity import capacity_chapter, scenarios_chapter
from spark_rollups.report.chapters.changed import changes_chapter, months_chapter
from spark_rollups.report.chapters.consumers import (
    abandoned_chapter,
    configuration_chapter,
    consumers_chapter,
    sizing_chapter,
)
from spark_rollups.report.chapters.data_quality import method_chapter, quality_chapter
from spark_rollups.report.chapters.front_page import front_page
from spark_rollups.report.chapters.owners import owners_chapter
from spark_rollups.report.chapters.servers import (
    clocks_chapter,
    publishing_chapter,
    servers_chapter,
    streams_chapter,
)
from spark_rollups.report.chapters.year import year_chapter
from spark_rollups.report.facts.assets import Source
from spark_rollups.report.facts.consumers import consumer_month, current_state
from spark_rollups.report.facts.coverage import request_gaps
from spark_rollups.report.facts.events import events_of, failing_checks, rejections_of
from spark_rollups.report.facts.monthly_facts import Facts, read_facts
from spark_rollups.report.facts.owners import owned_assets, owners_of
from spark_rollups.report.facts.scenarios import scenarios_of
from spark_rollups.report.facts.servers import restart_days
from spark_rollups.report.facts.sizing import sizing_of
from spark_rollups.report.facts.stores import stores_of
from spark_rollups.report.facts.year import checked_forecasts, year_of
from spark_rollups.report.findings.capacity import capacity_findings
from spark_rollups.report.findings.changes import (
    change_findings,
    configuration_findings,
    data_findings,
)
from spark_rollups.report.findings.finding import by_urgency
from spark_rollups.report.findings.rules import (
    consumer_findings,
    publishing_findings,
    server_findings,
)
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
    consumers, sizing, current = (
        consumer_month(facts, progress),
        sizing_of(facts),
        current_state(facts),
    )
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
            *consumer_findings(facts, consumers, sizing, stores),
            *server_findings(facts),
            *publishing_findings(facts, rejections),
            *change_findings(facts, events),
            *configuration_findings(facts, checks),
            *data_findings(facts, gaps),
        ]
    )
    actions = actions_of(facts, findings, current, owners, stores, made.date())
    findings = with_dates_and_owners(findings, actions, owners, facts.as_of)
    progress("writing chapters")
    front = front_page(facts, consumers, findings, actions)
    all_owners = owned_assets(facts, owners)
    chapters = (
        owners_chapter(facts, all_owners, actions),
        scenarios_chapter(facts, scenarios_of(facts, stores)),
        months_chapter(facts, front),
        year_chapter(facts, year),
        capacity_chapter(facts),
        streams_chapter(facts),
        consumers_chapter(facts, consumers),
        servers_chapter(facts, started),
        clocks_chapter(facts),
        publishing_chapter(facts, rejections),
        abandoned_chapter(facts),
        configuration_chapter(facts, checks),
        sizing_chapter(facts, sizing),
        changes_chapter(facts, events),
        quality_chapter(facts, consumers, gaps),
        method_chapter(facts, checked_forecasts(facts)),
    )
    return Report(
        month=month,
        made=made,
        systems=_systems(facts),
        covered=facts.days,
        front=front,
        actions=actions,
        findings=findings,
        chapters=chapters,
        owners=all_owners,
    )


def _systems(facts: Facts) -> tuple[str, ...]:
    pairs = (facts.streams, facts.consumers, facts.servers, facts.systems)
    return tuple(
        sorted(
            {
                name[0]
                for pair in pairs
                for name, seen in zip(pair.now.names, pair.now.seen, strict=True)
                if seen
            }
        )
    )
