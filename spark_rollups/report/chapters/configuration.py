"""The chapter on configuration: what the audit found, what is new and what was mended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from exporter import catalog as c
from spark_rollups.report import formatting as words
from spark_rollups.report.cell_values import Kind, Level
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import CONSUMER, STREAM, Name, folded, names_in
from spark_rollups.report.model import Chapter, Column, Row, Table
from spark_rollups.report.table_rows import identity

SEVERITIES = ("crit", "warn", "info")
_LEVELS = {"crit": Level.WRONG, "warn": Level.LOOK}


@dataclass(frozen=True, slots=True)
class Failing:
    """A check that fails on a stream or on one of its assets."""

    check: str
    severity: str
    name: Name  # system, account, stream
    assets: float | None
    state: str  # open, new or mended
    since: date

    @property
    def order(self) -> tuple[int, str, Name]:
        place = SEVERITIES.index(self.severity) if self.severity in SEVERITIES else len(SEVERITIES)
        return (place, self.check, self.name)


def failing_checks(facts: Facts) -> list[Failing]:
    metric = c.STREAM_CONFIG_FINDINGS.name
    extra = ("check", "severity")
    now, before = (
        folded(facts.source, [metric], STREAM, days, extra)
        for days in (facts.days, facts.days_before)
    )
    if not now.num_rows:
        return []
    labels = (*STREAM, *extra)
    known = set(names_in(before, labels)) if before.num_rows else set()
    found = []
    columns = (now[name].to_pylist() for name in ("last", "first_day", "last_day"))
    for name, assets, first, last in zip(names_in(now, labels), *columns, strict=True):
        mended = last < facts.as_of - timedelta(days=1) or assets == 0
        is_new = bool(facts.days_before) and name not in known and first > facts.days[0]
        state = "mended" if mended else "new" if is_new else "open"
        found.append(Failing(name[3], name[4], name[:3], assets, state, first))
    return sorted(found, key=lambda each: each.order)


def consumers_failing(facts: Facts) -> list[tuple[Name, str, str]]:
    """Consumer, check and severity, where the exporter serves them one by one."""
    extra = ("check", "severity")
    table = folded(facts.source, [c.CONSUMER_CONFIG_FINDING.name], CONSUMER, facts.days[-2:], extra)
    if not table.num_rows:
        return []
    names = names_in(table, (*CONSUMER, *extra))
    return sorted((name[:4], name[4], name[5]) for name in names)


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
