"""All conditions of a consumer at one poll."""

from __future__ import annotations

from exporter.signals.conditions import rules
from exporter.signals.conditions.evidence import Evidence
from exporter.signals.conditions.held import Held, still_held
from exporter.signals.conditions.words import Condition, Reason, Unjudged, unjudged

# Without it redeliveries are not counted either.
_NEED_NO_CONFIG = (Condition.NO_LEADER, Condition.LOSING_MESSAGES, Condition.FALLING_BEHIND)


def judge(evidence: Evidence, held: Held) -> tuple[Held, Unjudged]:
    """`held`: the conditions of the last poll. One that still holds keeps its start."""
    before = dict(held)
    found: dict[Condition, float] = {}
    _note(found, Condition.LOSING_MESSAGES, rules.losing_since(evidence))
    looping = rules.looping_since(evidence, held=Condition.REDELIVERY_LOOP in before)
    _note(found, Condition.REDELIVERY_LOOP, looping)
    if looping is not None and rules.finishes_nothing(evidence):
        found[Condition.NOTHING_FINISHED] = looping
    _note(found, Condition.FALLING_BEHIND, rules.behind_since(evidence))
    if evidence.push is not None:
        worker = Condition.NOT_BOUND if evidence.push else Condition.NO_WORKER_PULLS
        _note(found, worker, rules.no_worker_since(evidence))
        if worker in found and evidence.busy:
            found[Condition.WORKERS_GONE] = found[worker]
        elif worker not in found:
            stalled = rules.stalled_since(evidence, held=Condition.STALLED in before)
            _note(found, Condition.STALLED, stalled)
        _judge_acks(found, evidence, before)
    if not found:
        return (), _unjudged(evidence, found)
    kept = still_held(held, ((word, found[word]) for word in Condition if word in found))
    return kept, _unjudged(evidence, found)


def _note(found: dict[Condition, float], word: Condition, since: float | None) -> None:
    if since is not None:
        found[word] = since


def _judge_acks(found: dict[Condition, float], evidence: Evidence, held: dict[str, float]) -> None:
    """In-progress acks make a stop of acks a state of work."""
    if evidence.num_ack_pending == 0:
        return
    full = rules.full_since(evidence, held=Condition.ACK_PENDING_FULL in held)
    stuck = rules.stuck_since(evidence)
    if evidence.at_work_until < evidence.now.at:
        doubted = evidence.doubted_until >= evidence.now.at
        for word, since in ((Condition.ACK_PENDING_FULL, full), (Condition.ACK_FLOOR_STUCK, stuck)):
            if not doubted or word in held:
                _note(found, word, since)
        return
    # Each job that ends is a new delivery: that does not end the condition.
    if Condition.LONG_JOBS in held and rules.is_at_ack_limit(evidence):
        full = held[Condition.LONG_JOBS]
    starts = [since for since in (full, stuck) if since is not None]
    _note(found, Condition.LONG_JOBS, min(starts, default=None))


def _unjudged(evidence: Evidence, found: dict[Condition, float]) -> Unjudged:
    missing: list[tuple[str, str]] = []
    if evidence.rising_since is not None:
        missing.append((Condition.FALLING_BEHIND, Reason.TOO_YOUNG))
    if evidence.push is None:
        return (*missing, *unjudged(Reason.NO_CONFIG, *_NEED_NO_CONFIG, *found))
    if rules.is_young(evidence):
        missing.append((Condition.REDELIVERY_LOOP, Reason.TOO_YOUNG))
    if evidence.doubted_until >= evidence.now.at:
        words = (Condition.ACK_PENDING_FULL, Condition.ACK_FLOOR_STUCK, Condition.LONG_JOBS)
        missing += [(word, Reason.TOO_YOUNG) for word in words if word not in found]
    elif not evidence.shows_work and (
        Condition.ACK_PENDING_FULL in found or Condition.ACK_FLOOR_STUCK in found
    ):
        missing.append((Condition.LONG_JOBS, Reason.HIDDEN))
    return tuple(missing)
