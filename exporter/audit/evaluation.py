"""Runs checks over a scene: who failed what, who muted it, and what could not be judged. Pure."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from exporter.audit.check import Check, Finding, Need, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_versions import numbers
from exporter.audit.report import NotDone, Report, Told, in_order
from exporter.audit.suppressions import Mutes

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Provision:
    """How a scene meets a need, and what to say when it does not."""

    there: Callable[[AuditContext], bool]
    lack: str


_PROVISIONS = {
    Need.SERVERS: _Provision(
        lambda scene: any(row.up and row.start is not None for row in scene.servers),
        "needs what servers say of themselves: the system or the monitor source",
    ),
    Need.SUBSCRIPTIONS: _Provision(
        lambda scene: (
            scene.snapshot.subscriptions is not None
            or any(told.received is not None for told in scene.publishes.streams.values())
        ),
        "needs the servers' subscriptions: the system or the monitor source, with publishes on",
    ),
    Need.SECOND_LOOK: _Provision(
        lambda scene: scene.earlier is not None and scene.seconds > 0,
        "needs a second look: --watch 60s",
    ),
    Need.HISTORY: _Provision(
        lambda scene: scene.history is not None,
        "needs the rollups of an archive: --rollups PATH, or audit.rollups in the settings",
    ),
    Need.MESSAGES: _Provision(
        lambda scene: scene.messages is not None,
        "needs a sample of messages: --sample-messages, and the account source",
    ),
}


def judge(scene: AuditContext, checks: Sequence[Check], known: frozenset[str]) -> Report:
    """`known`: the codes of all checks there are, so that a mute of none of them is seen."""
    started = time.perf_counter()
    mutes = Mutes.of(scene)
    told: list[Told] = []
    not_done: list[NotDone] = []
    for check in checks:
        lacks = _lacks(check, scene)
        if lacks:
            not_done.append(NotDone(check, "; ".join(lacks)))
            continue
        try:
            found = list(check.find(scene))
        except Exception as error:  # ours: one wrong check must not cost the others
            logger.debug("check %s failed", check.code, exc_info=True)
            reason = f"failed by a mistake of its own: {type(error).__name__}: {error}"
            not_done.append(NotDone(check, reason, broken=True))
            continue
        not_done.extend(_unknown(check, found))
        told += _told(check, found, mutes)
    return Report(
        system=scene.snapshot.system,
        taken=scene.snapshot.taken,
        told=in_order(told),
        not_done=tuple(not_done),
        strays=mutes.strays(known),
        checks=len(checks),
        seconds=time.perf_counter() - started,
    )


def _lacks(check: Check, scene: AuditContext) -> list[str]:
    lacks = [
        provision.lack
        for need, provision in _PROVISIONS.items()
        if need in check.needs and not provision.there(scene)
    ]
    oldest = min((row.version for row in scene.servers if row.version), key=numbers, default="")
    if oldest and numbers(oldest) < numbers(check.since):
        lacks.append(f"needs servers since {check.since}; the oldest here is {oldest}")
    return lacks


def _told(check: Check, found: Iterable[Finding | Unknown], mutes: Mutes) -> list[Told]:
    findings = (one for one in found if isinstance(one, Finding))
    return [Told(check, one, mutes.muted_by(check.code, one)) for one in findings]


def _unknown(check: Check, found: Iterable[Finding | Unknown]) -> Iterator[NotDone]:
    """By reason: a hundred consumers of which one thing is not known are one line."""
    reasons = Counter(one.reason for one in found if isinstance(one, Unknown))
    for reason, subjects in reasons.items():
        yield NotDone(check, reason, subjects)
