"""The first page: limits, changes for the worse, and actions with dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np

from exporter import catalog as c
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import Action
from spark_rollups.report.chapters.capacity import full_figure
from spark_rollups.report.chapters.changed import comparisons, is_better, sentence_of
from spark_rollups.report.chapters.data_quality import unknowns
from spark_rollups.report.facts.assets import highest, total
from spark_rollups.report.facts.consumers import ConsumerMonth
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import discards_old, filling, stream_growth
from spark_rollups.report.findings.finding import Finding
from spark_rollups.report.formatting import Level
from spark_rollups.report.model import FrontPage

_UNKNOWN_SHOWN = 3
_WORSE_SHOWN = 2


def front_page(
    facts: Facts, month: ConsumerMonth, findings: Sequence[Finding], actions: Sequence[Action]
) -> FrontPage:
    numbers = comparisons(facts, month)
    level, headline = _headline(facts, actions)
    worse = [each for each in numbers if each.level is Level.WARNING]
    slower = _worse_consumers(findings)
    # One thing is never better and worse: consumers that got slower decide about lag.
    better = [
        each for each in numbers if is_better(facts, each) and not (each.key == "lag" and slower)
    ]
    return FrontPage(
        headline=headline,
        level=level,
        sentences=tuple(_sentences(facts, month, actions)),
        full=full_figure(facts),
        comparisons=tuple(numbers),
        worse=(
            *(sentence_of(each) for each in worse if not (each.key == "lag" and slower)),
            *slower,
        ),
        better=tuple(sentence_of(each) for each in better),
        unknown=tuple(sentence for _, sentence in unknowns(facts, month)[:_UNKNOWN_SHOWN]),
    )


def _worse_consumers(findings: Sequence[Finding]) -> list[str]:
    found = [each.summary for each in findings if each.code == "CON-LAG-WORSE"]
    return found[:_WORSE_SHOWN]


def _headline(facts: Facts, actions: Sequence[Action]) -> tuple[Level, str]:
    level, text = _due(facts, actions)
    if not facts.missing:
        return level, text
    gone = fmt.plural(len(facts.missing), "day has", "days have")
    return max(level, Level.WARNING), f"{text} {gone} no data: what happened then is unknown."


def _due(facts: Facts, actions: Sequence[Action]) -> tuple[Level, str]:
    today = [each for each in actions if each.by is None]
    level = max((each.level for each in actions), default=Level.NORMAL)
    limits = _limits(facts, actions)
    if today:
        more = f", and {fmt.plural(len(today) - 1, 'more action')}" if len(today) > 1 else ""
        return (
            Level.CRITICAL,
            f"Due today: {fmt.lower_first(today[0].what)}{more}. {fmt.capital(limits)}.",
        )
    if actions:
        number = fmt.plural(len(actions), "action")
        return (
            level,
            f"{fmt.capital(limits)}. Nothing is due today; {number} by {fmt.day(_last(actions))}.",
        )
    if _uncertainty(facts):
        return Level.WARNING, f"{fmt.capital(limits)}; nothing else needs attention."
    return Level.NORMAL, f"{fmt.capital(limits)}, and nothing needs attention."


def _last(actions: Sequence[Action]) -> date:
    return max(each.by for each in actions if each.by is not None)


def _limits(facts: Facts, actions: Sequence[Action]) -> str:
    """The first limit, and how many other causes; servers that fill together are one."""
    full = filling(facts)
    if not full:
        return _uncertainty(facts) or "no limit will be reached within 90 days"
    first = full[0]
    when = "is full now" if first.outlook == Outlook.REACHED else _will_be_full(first)
    causes = sum(each.code.startswith("CAP-") for each in actions)
    more = f", and {fmt.plural(causes - 1, 'other limit')} within 90 days" if causes > 1 else ""
    return f"{first.subject} {first.name} {when}{more}"


def _uncertainty(facts: Facts) -> str:
    """Why it is uncertain whether limits will be reached; "" if the forecasts cover every limit."""
    if facts.forecasts_as_of is None:
        return "It is unknown when limits will be reached: there is no forecast"
    open_limits = [each for each in facts.forecasts if not discards_old(facts, each)]
    possible = sum(each.outlook == Outlook.WATCH for each in open_limits)
    dateless = sum(each.outlook == Outlook.UNKNOWN for each in open_limits)
    sentences = []
    if possible:
        sentences.append(f"{fmt.plural(possible, 'limit')} may be reached within 90 days")
    if dateless:
        sentences.append(f"{fmt.plural(dateless, 'limit has', 'limits have')} no date yet")
    return " and ".join(sentences)


def _will_be_full(each: Forecast) -> str:
    return f"will be full around {fmt.day(each.likely)}" if each.likely else "will be full"


def _sentences(facts: Facts, month: ConsumerMonth, actions: Sequence[Action]) -> list[str]:
    lost = total(month.lost)
    sentences = [*_about_loss(month, lost), *_about_limits(facts), *_about_growth(facts)]
    if lost == 0:
        sentences.append(f"No consumer lost messages{_with_data(facts)}.")
    sentences += _about_consumers(facts, month)
    tight = [
        each
        for each in actions
        if any(finding.advice and not finding.advice.fits for finding in each.findings)
    ]
    if tight:
        names = fmt.listed(list(dict.fromkeys(each.findings[0].subject.name for each in tight)))
        sentences.append(
            f"No server or account has the storage for the limit that {names} would need."
        )
    return sentences


def _about_loss(month: ConsumerMonth, lost: float | None) -> list[str]:
    """The first sentence of the page."""
    if not lost:
        return []
    losers = fmt.plural(int((month.lost > 0).sum()), "consumer")
    return [f"{losers} lost messages: limits removed at least {fmt.count(lost)} before delivery."]


def _about_limits(facts: Facts) -> list[str]:
    sentences = []
    earlier = {each.key: each for each in facts.forecasts_before}
    for each in _one_server(filling(facts))[:3]:
        if each.likely is None or each.outlook == Outlook.REACHED:
            continue
        text = (
            f"{fmt.capital(each.subject)} {each.name} reaches its limit around {fmt.day(each.likely)} "
            f"({fmt.day_range(each.earliest, each.latest)})"
        )
        sentences.append(f"{text}{_moved(each, earlier.get(each.key))}.")
    return sentences


def _one_server(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """Only the first server of a system: they fill together."""
    seen: set[str] = set()
    found = []
    for each in forecasts:
        if not each.server or each.system not in seen:
            found.append(each)
        if each.server:
            seen.add(each.system)
    return found


def _moved(each: Forecast, before: Forecast | None) -> str:
    """How the date moved since the month before."""
    if before is None or each.likely is None:
        return ""
    if before.likely is None:
        return "; a month ago it had no date" if before.outlook != Outlook.UNKNOWN else ""
    days = (each.likely - before.likely).days
    if abs(days) <= 2:
        return "; a month ago the date was the same"
    moved = fmt.plural(abs(days), "day")
    return f"; a month ago it was {fmt.day(before.likely)}, {moved} {'later' if days < 0 else 'earlier'}"


def _about_growth(facts: Facts) -> list[str]:
    size = total(facts.streams.now.at_end(c.STREAM_BYTES))
    now, before = (total(each) for each in stream_growth(facts))
    if size is None or now is None:
        return ["The size of the streams is unknown."]
    text = f"Streams {_grew(now)} to {fmt.bytes_text(size)}"
    if before is not None and facts.days_before:
        text += f"; the month before they {_grew(before)}"
    return [f"{text}."]


def _grew(change: float) -> str:
    return f"{'grew' if change >= 0 else 'shrank'} by {fmt.bytes_text(abs(change))}"


def _about_consumers(facts: Facts, month: ConsumerMonth) -> list[str]:
    now = facts.consumers.now
    if not now.seen.any():
        return []
    worst = highest(month.lag)
    if worst is None or worst <= 0:
        return []
    index = int(np.nanargmax(month.lag))
    _, _, stream, consumer = now.names[index]
    day = month.lag_day[index]
    on = f" on {fmt.day(day)}" if day is not None else ""
    return [
        f"The worst lag{_with_data(facts)} was {fmt.span(worst)}: consumer {consumer} of {stream}{on}."
    ]


def _with_data(facts: Facts) -> str:
    """Gaps may hide worse: nothing is said about them."""
    return f" on the {len(facts.days)} days with data" if facts.missing else ""
