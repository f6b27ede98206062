"""What is wrong with one asset: its conditions, recent events and exceeded limits, gravest first.

Pure. The level of a problem is the severity of the alert that stands on it: what pages is critical, what
raises a ticket is a warning. Owners lower it in the metadata as they do in the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from alerts import thresholds
from exporter.model import MALFORMED, NO_NOTES, Consumer, OwnerNotes, Server, Stream
from exporter.pages.status import advice
from exporter.pages.status.advice import Advice
from exporter.pages.status.evidence import consumer_evidence, server_evidence, stream_evidence
from exporter.pages.status.level import Level
from exporter.pages.status.wording import number
from exporter.samples.owner_limits import exceeded_by_consumer, exceeded_by_stream
from exporter.signals.clock import clock_offsets
from exporter.signals.event_count import Events
from exporter.signals.results import Signals

_CAPS = {"warning": Level.WARNING, "info": Level.OK, "none": Level.OK}
_MALFORMED = "malformed_row"


class Problem(Struct, frozen=True):
    word: str
    level: int
    since_seconds: float | None  # of an event: since it happened
    evidence: str
    means: str
    command: str  # to run next
    runbook: str  # name of the alert

    @property
    def text(self) -> str:
        return self.word.replace("_", " ")


class Facts(Struct, frozen=True):
    """What the problems of all assets of a system are found from."""

    signals: Signals
    now: float
    offsets: Mapping[str, float]  # of the clocks of servers

    @classmethod
    def of(cls, signals: Signals, servers: Iterable[Server], now: float) -> Facts:
        return cls(signals, now, clock_offsets(servers))


def consumer_problems(row: Consumer, facts: Facts) -> tuple[Problem, ...]:
    key = (row.account, row.stream, row.name)
    signals, config = facts.signals.consumers.get(key), row.config
    events = facts.signals.consumer_events.get(key)
    held = signals.conditions if signals else ()
    limited = config is not None and bool(config.thresholds.limits)
    if not (held or events or limited or row.reason == MALFORMED):
        return ()  # as for most of 100,000
    # Rules leave out ephemeral and paused consumers.
    in_service = not row.paused and (config is None or config.durable)
    asset = _Asset(
        {"stream": row.stream, "consumer": row.name},
        config.notes if config else NO_NOTES,
        Level.CRITICAL if in_service else Level.OK,
    )
    conditions = (
        asset.problem(word, advice.CONSUMER.get(word), facts.now - since,
                      consumer_evidence(word, row, signals))
        for word, since in held
    )  # fmt: skip
    limits = exceeded_by_consumer(row, facts.offsets, facts.now)
    return _sorted(
        [*conditions, *asset.malformed(row.reason, advice.CONSUMER), *asset.limits(limits)],
        asset.events(events, facts.now),
    )


def stream_problems(row: Stream, facts: Facts) -> tuple[Problem, ...]:
    key, config = (row.account, row.name), row.config
    notes = config.notes if config else NO_NOTES
    asset = _Asset({"stream": row.name, "consumer": ""}, notes)
    held = facts.signals.stream_conditions.get(key, ())
    if notes.back_pressure:  # the owner wants publishers to wait when it is full
        held = tuple(("back_pressure" if w == "full" else w, since) for w, since in held)
    conditions = (
        asset.problem(word, advice.STREAM.get(word), facts.now - since, stream_evidence(word, row))
        for word, since in held
    )
    damaged = (
        [asset.problem("damaged_store", advice.STREAM["damaged_store"], None, stream_evidence("damaged_store", row))]
        if row.up and row.lost
        else []
    )  # fmt: skip
    limits = asset.limits(exceeded_by_stream(row, facts.offsets, facts.now))
    return _sorted(
        [*conditions, *damaged, *asset.malformed(row.reason, advice.STREAM), *limits],
        asset.events(facts.signals.stream_events.get(key), facts.now),
    )


def server_problems(row: Server, facts: Facts) -> tuple[Problem, ...]:
    asset, found = _Asset({"server": row.name}, NO_NOTES), []
    for word, since in facts.signals.server_conditions.get(row.name, ()):
        evidence = server_evidence(word, row)
        found.append(asset.problem(word, advice.SERVER.get(word), facts.now - since, evidence))
    return _sorted(found)


def level_of(problems: Sequence[Problem]) -> Level:
    return Level(problems[0].level) if problems else Level.OK


class _Asset(Struct, frozen=True):
    names: Mapping[str, str]
    notes: OwnerNotes
    highest: Level = Level.CRITICAL

    def problem(
        self, word: str, given: Advice | None, since: float | None, evidence: str
    ) -> Problem:
        # A condition without advice is one that this page does not know: it must not look well.
        known = given or Advice(Level.WARNING, "", "", "")
        level = min(known.level, self.highest, _CAPS.get(self.notes.severity, Level.CRITICAL))
        if _is_muted(self.notes.ignore, known.runbook):
            level, evidence = Level.OK, ", ".join(filter(None, (evidence, "muted by the owner")))
        return Problem(
            word, level, None if since is None else max(0.0, since), evidence,
            known.means, known.filled(**self.names), known.runbook,
        )  # fmt: skip

    def malformed(self, reason: str, known: Mapping[str, Advice]) -> Iterator[Problem]:
        if reason == MALFORMED:
            yield self.problem(_MALFORMED, known[_MALFORMED], None, "")

    def events(self, events: Events | None, now: float) -> Iterator[Problem]:
        for counter, event in (events or {}).items():
            if counter in advice.EVENTS and now - event.last < thresholds.RECENT_EVENT.value:
                word, given = advice.EVENTS[counter]
                yield self.problem(word, given, now - event.last, f"{event.total:,} in all")

    def limits(self, exceeded: Iterable[tuple[str, float]]) -> Iterator[Problem]:
        for name, value in exceeded:
            evidence = f"io.nats.monitor.{name}: the value is {number(value)}"
            yield self.problem("owner_limit_exceeded", advice.LIMIT, None, evidence)


def _is_muted(ignore: Sequence[str], runbook: str) -> bool:
    return bool(ignore) and not {"all", runbook, runbook.removeprefix("JetStream")}.isdisjoint(
        ignore
    )


def _sorted(now: Sequence[Problem], events: Iterable[Problem] = ()) -> tuple[Problem, ...]:
    """The gravest first; conditions come in their own order. An event that a condition of the same
    alert covers is left out."""
    covered = {each.runbook for each in now}
    found = (*now, *(each for each in events if each.runbook not in covered))
    return tuple(sorted(found, key=lambda each: -each.level))
