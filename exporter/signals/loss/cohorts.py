"""Bounds of the loss of a consumer behind a filter.

The messages that wait at one poll are a cohort. Each of them is later delivered, removed, or still
waits. Limits remove only from the front: once the first sequence passed the whole cohort, none waits,
and what was not delivered is lost, whatever came in meanwhile.

The stream is polled before its consumers, so a consumer's row lies between two rows of its stream.
"""

from __future__ import annotations

from msgspec import Struct

from exporter.model import Consumer
from exporter.signals.loss.accounting import never_redelivers

# More cohorts make the bounds narrower by less than one part in this number.
MOST_COHORTS = 12
_UNKNOWN = -(1 << 62)


class Cohort(Struct, frozen=True, gc=False):
    """The messages that waited at one poll."""

    pending: int
    settled: int  # all of them have higher sequences
    last_least: int  # the stream's last sequence at that time: at least, and at most
    last_most: int
    deliveries: int
    lower: int  # lost by then: at least, and at most
    upper: int
    certain: bool = True  # num_pending is no less than it says
    deleted: int = 0  # of the stream up to then, at most: single messages, as gaps showed


class Step(Struct, frozen=True, gc=False):
    """What one more poll shows."""

    before: Consumer
    row: Consumer
    position: int  # at the previous poll: everything that waited then has a higher sequence
    last_least: int  # of the stream at the previous poll, as the consumer knew it
    last_most: int
    first_least: int  # of the stream now, as the consumer knows it
    first_before: int  # the same at the previous poll
    by_limits: int  # at most so many messages were removed by limits since the previous poll
    lower: int  # lost up to the previous poll
    upper: int
    countable: bool  # whether a lower bound can be given for this interval
    trusted: bool = True  # the previous row came from a leader that had counted what waits
    deleted: int = 0  # as of the cohorts: by now, and at the previous poll
    deleted_before: int = 0


def settled_only(settled: int, upper: int) -> Cohort:
    """Without a known cohort each passed sequence may have been a message."""
    return Cohort(0, settled, settled, settled, 0, _UNKNOWN, upper, False)


def at_most(cohort: Cohort, first_seq: int, delivered: int = 0) -> int:
    """Lost when the stream starts at `first_seq`; `delivered`: so many of the cohort at least."""
    passed = first_seq - 1 - cohort.settled
    if passed <= 0:
        return cohort.upper
    newer = max(0, first_seq - 1 - max(cohort.last_least, cohort.settled))
    return cohort.upper + min(passed, cohort.pending - delivered + newer)


def first_deliveries(cohort: Cohort, row: Consumer) -> int:
    """So many of the cohort were delivered at least; where nothing is ever sent again."""
    if not never_redelivers(row.config):
        return 0
    newer = max(0, row.delivered_stream_seq - cohort.last_least)
    sent = row.delivered_consumer_seq - cohort.deliveries - newer
    return max(0, min(sent, cohort.pending))


def at_least(
    cohort: Cohort, row: Consumer, first_least: int, most_waiting: int, deleted: int = 0
) -> int:
    """`most_waiting`: no more than so many of the cohort wait, beside what the stream may hold."""
    ahead = cohort.last_most - first_least + 1
    waits = min(most_waiting, ahead) if ahead > 0 else 0
    delivered = row.delivered_consumer_seq - cohort.deliveries
    by_hand = max(0, deleted - cohort.deleted)
    return cohort.lower + cohort.pending - delivered - waits - by_hand


def cohort_before(step: Step, upper: int) -> Cohort:
    before = step.before
    return Cohort(
        before.num_pending,
        step.position,
        step.last_least,
        step.last_most,
        before.delivered_consumer_seq,
        step.lower,
        upper,
        step.countable and not is_served(before),
        step.deleted_before,
    )


def is_served(row: Consumer) -> bool:
    """Whether what waits is just being sent. One that waits all the same may not exist (2.11)."""
    if row.paused or not (row.num_waiting or row.push_bound):
        return False
    most = row.config.max_ack_pending if row.config else None
    return most is None or row.num_ack_pending < most


def follow(cohorts: tuple[Cohort, ...], step: Step) -> tuple[tuple[Cohort, ...], int, int]:
    """The cohorts to keep, and how many messages are lost by now: at least, at most.

    `cohorts` are of earlier polls than the previous one, whose row may be younger than the loss
    that its stream reported.
    """
    first = step.row.stream_first_seq
    upper = min(at_most(one, first, first_deliveries(one, step.before)) for one in cohorts)
    upper = max(step.upper, min(upper, step.upper + step.by_limits))
    if step.trusted:
        cohorts = (*cohorts, cohort_before(step, upper))
    if not step.countable:
        # What a purge or another leader changed, no earlier cohort can explain.
        return _thinned(tuple(_bounding(one) for one in cohorts)), step.lower, upper
    certain = [one for one in cohorts if one.certain]
    # num_pending may already lack what was purged since the stream was polled, so that of the
    # previous poll counts: a purge before this poll of the stream would have been seen.
    before, older = step.before, certain[:-1] if step.trusted else certain
    by_hand = step.deleted
    found = [at_least(one, step.row, step.first_least, one.pending, by_hand) for one in certain]
    found += [
        at_least(one, before, step.first_before, before.num_pending, by_hand) for one in older
    ]
    lower = max([step.lower, *(min(upper, one) for one in found)])
    newest = cohorts[-1]
    kept = (one for one in cohorts[:-1] if step.first_least - 1 < one.last_most)
    return _thinned((*kept, newest)), lower, upper


def _bounding(cohort: Cohort) -> Cohort:
    if not cohort.certain:
        return cohort
    return Cohort(
        cohort.pending,
        cohort.settled,
        cohort.last_least,
        cohort.last_most,
        cohort.deliveries,
        _UNKNOWN,
        cohort.upper,
        False,
    )


def _thinned(cohorts: tuple[Cohort, ...]) -> tuple[Cohort, ...]:
    """Without the one whose neighbours are closest."""
    if len(cohorts) <= MOST_COHORTS:
        return cohorts
    inner = range(1, len(cohorts) - 1)
    gone = min(inner, key=lambda at: cohorts[at + 1].last_most - cohorts[at - 1].last_most)
    return cohorts[:gone] + cohorts[gone + 1 :]
