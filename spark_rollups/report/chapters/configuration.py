"""The chapter on configuration: what the audit found, what is new and what was mended."""

from __future__ import annotations

from spark_rollups.report import formatting as words
from spark_rollups.report.cell_values import (
    Kind,
    Level,
)
from spark_rollups.report.facts.audit_checks import Failing, consumers_failing
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import CONSUMER, STREAM, Name
from spark_rollups.report.model import Chapter, Column, Row, Table
from spark_rollups.report.table_rows import identity

_LEVELS = {"crit": Level.WRONG, "warn": Level.LOOK}


def configuration_chapter(facts: Facts, checks: list[Failing]) -> Chapter:
    consumers = consumers_failing(facts)
    tables = [_table(checks)]
    if consumers:
        tables.append(_consumer_table(consumers))
    return Chapter("configuration", "Configuration", (_sentence(checks),), tuple(tables))


def _sentence(checks: list[Failing]) -> str:
    if not checks:
        return (
            "Unknown: no result of the audit was recorded in this month. The command "
            "streamgauge audit asks the servers directly."
        )
    states = {
        state: sum(each.state == state for each in checks) for state in ("open", "new", "mended")
    }
    return (
        f"{words.plural(len({each.check for each in checks}), 'check')} of the audit failed: "
        f"{states['new']} findings are new, {states['open']} were there before, {states['mended']} are "
        "mended."
    )


def _table(checks: list[Failing]) -> Table:
    rows = [
        Row(
            (*each.name, each.check, each.severity, each.assets, each.state, each.since),
            _level(each),
        )
        for each in checks
    ]
    return Table(
        "configuration",
        "Checks that fail, by stream",
        identity(STREAM),
        (
            Column("check", "Check"),
            Column("severity", "Severity"),
            Column("assets", "Assets", Kind.COUNT, "the stream and its consumers that fail"),
            Column("state", "State", hint="new in this month, open since before, or mended"),
            Column("since", "Seen since", Kind.DAY, "first day in this month"),
        ),
        rows,
        empty="No result of the audit was recorded: unknown.",
    )


def _level(each: Failing) -> Level:
    return Level.CALM if each.state == "mended" else _LEVELS.get(each.severity, Level.CALM)


def _consumer_table(found: list[tuple[Name, str, str]]) -> Table:
    return Table(
        "configuration_consumers",
        "Checks that fail, by consumer",
        identity(CONSUMER),
        (Column("check", "Check"), Column("severity", "Severity")),
        [Row((*name, check, severity), _LEVELS.get(severity, Level.CALM))
         for name, check, severity in found],
    )  # fmt: skip
