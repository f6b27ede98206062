"""The first page: limits, changes for the worse, and actions with dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exporter import catalog as c
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import Action
from spark_rollups.report.chapters.capacity import full_figure
from spark_rollups.report.chapters.changed import comparisons, is_better, sentence_of
from spark_rollups.report.chapters.data_quality import unknowns
from spark_rollups.report.facts.assets import total
from spark_rollups.report.facts.consumers import ConsumerMonth
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import discards_old, filling, stream_growth
from spark_rollups.report.findings.finding import Finding
from spark_rollups.report.formatting import Level
from spark_rollups.report.model import FrontPage

_UNKNOWN_SHOWN, _WORSE_SHOWN, _LIMITS_SHOWN = 3, 2, 3


def front_page(
    facts: Facts, month: ConsumerMonth, findings: Sequence[Finding], actions: Sequence[Action]
) -> FrontPage:
    numbers = comparisons(facts, month)
    slower = [each.summary for each in findings if each.code == "CON-LAG-WORSE"][:_WORSE_SHOWN]
    # One thing is never better and worse: consumers that got slower decide about lag.
    judged = [each for each in numbers if not (each.key == "lag" and slower)]
    level, headline = _headline(facts, actions)
    return FrontPage(
        headline=headline,
        level=level,
        sentences=_sentences(facts, month, actions),
        full=full_figure(facts),
        comparisons=tuple(numbers),
        worse=(*(sentence_of(each) for each in judged if each.level is Level.WARNING), *slower),
        better=tuple(sentence_of(each) for each in judged if is_better(facts, each)),
        unknown=tuple(sentence for _, sentence in unknowns(facts, month)[:_UNKNOWN_SHOWN]),
    )


def _headline(facts: Facts, actions: Sequence[Action]) -> tuple[Level, str]:
    open_limits = [each for each in facts.forecasts if not discards_old(facts, each)]
    outlooks = [each.outlook for each in open_limits]
    full, today = filling(facts), [each for each in actions if each.by is None]
    possible, dateless = outlooks.count(Outlook.WATCH), outlooks.count(Outlook.UNKNOWN)
    uncertain = facts.forecasts_as_of is None or possible or dateless
    level = max((each.level for each in actions), default=Level.NORMAL)
    if today:
        level = Level.CRITICAL
    elif facts.missing or (uncertain and not actions):
        level = max(level, Level.WARNING)
    lines = fmt.sentences(
        "headline", facts=facts, first=full[0] if full else None, today=today, actions=actions,
        causes=sum(each.code.startswith("CAP-") for each in actions), possible=possible,
        dateless=dateless, uncertain=uncertain,
        last=max((each.by for each in actions if each.by is not None), default=None),
    )  # fmt: skip
    return level, " ".join(lines)


def _sentences(facts: Facts, month: ConsumerMonth, actions: Sequence[Action]) -> tuple[str, ...]:
    now, (growth, growth_before) = facts.streams.now, map(total, stream_growth(facts))
    earlier = {each.key: each for each in facts.forecasts_before}
    limits = [
        (each, _moved(each, earlier.get(each.key)))
        for each in _one_server(filling(facts))[:_LIMITS_SHOWN]
        if each.likely is not None and each.outlook != Outlook.REACHED
    ]
    tight = (
        each.findings[0].subject.name
        for each in actions
        if any(finding.advice and not finding.advice.fits for finding in each.findings)
    )
    return fmt.sentences(
        "front", facts=facts, lost=total(month.lost), losers=(month.lost > 0).sum(),
        limits=limits, size=total(now.at_end(c.STREAM_BYTES)), growth=growth,
        growth_before=growth_before if facts.days_before else None, tight=list(dict.fromkeys(tight)),
        worst=_worst_lag(facts, month),
    )  # fmt: skip


def _one_server(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """Only the first server of a system: they fill together."""
    first: dict[Any, Forecast] = {}
    for each in forecasts:
        first.setdefault(each.system if each.server else each.key, each)
    return list(first.values())


def _moved(each: Forecast, before: Forecast | None) -> str:
    """How the date moved since the month before."""
    if before is None or each.likely is None:
        return ""
    if before.likely is None:
        return "; a month ago it had no date" if before.outlook != Outlook.UNKNOWN else ""
    days = (each.likely - before.likely).days
    if abs(days) <= 2:
        return "; a month ago the date was the same"
    moved = f"{fmt.plural(abs(days), 'day')} {'later' if days < 0 else 'earlier'}"
    return f"; a month ago it was {fmt.day(before.likely)}, {moved}"


def _worst_lag(facts: Facts, month: ConsumerMonth) -> dict[str, Any] | None:
    if not np.nan_to_num(month.lag).any():
        return None
    index = int(np.nanargmax(month.lag))
    _, _, stream, consumer = facts.consumers.now.names[index]
    lag, day = float(month.lag[index]), month.lag_day[index]
    return {"lag": lag, "day": day, "stream": stream, "consumer": consumer}
