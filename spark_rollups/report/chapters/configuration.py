"""The chapter on configuration: failing checks of the audit, new, open and fixed."""

from __future__ import annotations

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
)
from spark_rollups.report.facts.assets import CONSUMER, STREAM, Name
from spark_rollups.report.facts.audit_checks import FailingCheck, failing_consumer_checks
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Chapter, Column, Row, Table
from spark_rollups.report.table_rows import identity

_LEVELS = {"crit": Level.CRITICAL, "warn": Level.WARNING}


def configuration_chapter(facts: Facts, checks: list[FailingCheck]) -> Chapter:
    consumers = failing_consumer_checks(facts)
    tables = [_table(checks)]
    if consumers:
        tables.append(_consumer_table(consumers))
    return Chapter("configuration", "Configuration", (_sentence(checks),), tuple(tables))


def _sentence(checks: list[FailingCheck]) -> str:
    if not checks:
        return (
            "Unknown: no audit result was recorded in this month. The command streamgauge audit checks the "
            "servers directly."
        )
    states = {
        state: sum(each.state == state for each in checks) for state in ("open", "new", "fixed")
    }
    return (
        f"{fmt.plural(len({each.check for each in checks}), 'check')} of the audit failed: "
        f"{states['new']} findings are new, {states['open']} were there before, {states['fixed']} are "
        "fixed."
    )


def _table(checks: list[FailingCheck]) -> Table:
    rows = [
        Row(
            (*each.name, each.check, each.severity, each.assets, each.state, each.since),
            _level(each),
        )
        for each in checks
    ]
    return Table(
        "configuration",
        "Failing checks by stream",
        identity(STREAM),
        (
            Column("check", "Check"),
            Column("severity", "Severity"),
            Column(
                "assets", "Assets", Kind.COUNT, "the stream and those of its consumers that fail"
            ),
            Column("state", "State", hint="new in this month, open since before, or fixed"),
            Column("since", "Since", Kind.DAY, "first day in this month"),
        ),
        rows,
        empty="Unknown: no audit result was recorded.",
    )


def _level(each: FailingCheck) -> Level:
    return Level.NORMAL if each.state == "fixed" else _LEVELS.get(each.severity, Level.NORMAL)


def _consumer_table(found: list[tuple[Name, str, str]]) -> Table:
    return Table(
        "configuration_consumers",
        "Failing checks by consumer",
        identity(CONSUMER),
        (Column("check", "Check"), Column("severity", "Severity")),
        [Row((*name, check, severity), _LEVELS.get(severity, Level.NORMAL))
         for name, check, severity in found],
    )  # fmt: skip
