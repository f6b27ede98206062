"""The chapter on scenarios: when servers and accounts are full if the load changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import Kind, Level, Value
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Chapter, Column, Row, Table
from spark_rollups.report.scenarios import Loss, Scenario, Scenarios

_SOON_DAYS = 90


def scenarios_chapter(facts: Facts, found: Scenarios) -> Chapter:
    return Chapter(
        "what-if",
        "What if",
        tuple(_sentences(facts, found)),
        (_table(facts, found),),
    )


def _sentences(facts: Facts, found: Scenarios) -> list[str]:
    if not found.rows:
        return [
            "No storage of a server or limit of an account is known, so nothing can be computed."
        ]
    if facts.forecasts_as_of is None:
        return ["There is no forecast for this month: when storage is full is unknown."]
    known = [row for row in found.rows if row.store.growth.is_known]
    sentences = [
        f"{_first(known, 'as_is')} as it grows today; {_lower(_first(known, 'more_growth'))} with 50 % more growth."
    ]
    for (system, storage), stream in found.largest.items():
        rows = [
            row
            for row in known
            if (row.store.subject.system, row.store.storage) == (system, storage)
        ]
        where = facts.path((system, stream[1]))
        if rows:
            sentences.append(
                f"If stream {stream[2]}{f' of {where}' if where else ''} doubles, {_lower(_first(rows, 'doubled')).rstrip(',')}."
            )
    if len(known) < len(found.rows):
        unknown = fmt.plural(
            len(found.rows) - len(known), "server or account has", "servers and accounts have"
        )
        sentences = sentences if known else []
        sentences.append(f"{unknown} no forecast, so when that storage is full is unknown.")
    sentences += [_loss(loss) for loss in found.losses.values()]
    return sentences


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _first(rows: Sequence[Scenario], case: str) -> str:
    day, name = min(
        ((getattr(row, case) or date.max, row.store.subject.name) for row in rows),
        default=(date.max, ""),
    )
    return (
        "Nothing is full within a year"
        if day == date.max
        else f"{name} is full first, around {fmt.day(day)},"
    )


def _loss(loss: Loss) -> str:
    parts = [
        text
        for number, text in (
            (loss.moving, f"{fmt.plural(loss.moving, 'stream moves', 'streams move')} to other servers"),
            (loss.degraded, f"{fmt.plural(loss.degraded, 'stream has', 'streams have')} one replica less, because no "
                            "server is free of them"),
            (loss.offline, f"{fmt.plural(loss.offline, 'stream is', 'streams are')} offline: the only replica is there"),
        )
        if number
    ]  # fmt: skip
    return f"Without server {loss.server.subject.server}: {'; '.join(parts) or 'no stream is affected'}."


def _table(facts: Facts, found: Scenarios) -> Table:
    return Table(
        "scenarios",
        "When storage is full",
        (Column("system", "System"), Column("account", "Account"), Column("server", "Name")),
        (
            Column("storage", "Storage"),
            Column("used", "Used", Kind.BYTES),
            Column("limit", "Limit", Kind.BYTES),
            Column("as_is", "As is", Kind.DAY),
            Column("more_growth", "Growth +50 %", Kind.DAY),
            Column("doubled", "Largest stream doubled", Kind.DAY),
            Column("server_lost", "One server lost", Kind.DAY, "the one with most data"),
        ),
        [_row(facts, each, found) for each in found.rows],
        note="From the middle of the forecast; after its 90 days the growth goes on as at its end. The "
        "largest stream and the lost server are named above.",
        empty="No server has a maximum and no account has a limit, or both are unknown.",
    )


def _row(facts: Facts, each: Scenario, found: Scenarios) -> Row:
    store = each.store
    loss = found.losses.get((store.subject.system, store.storage))
    lost: Value = _day(each, each.server_lost)
    if loss is not None and loss.server == store:
        lost = "lost"
    elif loss is None and store.subject.server:
        lost = "no other server"
    soon = each.as_is is not None and (each.as_is - facts.as_of).days <= _SOON_DAYS
    return Row(
        (
            store.subject.system, store.subject.account, store.subject.server, store.storage,
            store.used, store.limit, _day(each, each.as_is), _day(each, each.more_growth),
            _day(each, each.doubled), lost,
        ),
        Level.WARNING if soon else Level.NORMAL,
    )  # fmt: skip


def _day(each: Scenario, day: date | None) -> Value:
    if day is not None:
        return day
    return "not within a year" if each.store.growth.is_known else None
