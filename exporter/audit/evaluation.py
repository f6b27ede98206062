"""Evaluates checks against one audit context. Pure."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from exporter.audit.check import Check, Finding, Need, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.facts.server_versions import version_numbers
from exporter.audit.report import NotEvaluated, Report, ReportedFinding, in_order
from exporter.audit.suppressions import Suppressions

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Requirement:
    """Whether a context meets a need, and the reason to report if it does not."""

    is_met: Callable[[AuditContext], bool]
    reason: str


_REQUIREMENTS = {
    Need.SERVERS: _Requirement(
        lambda context: any(row.up and row.start is not None for row in context.servers),
        "needs data from the servers: use the system or the monitor source",
    ),
    Need.SUBSCRIPTIONS: _Requirement(
        lambda context: (
            context.snapshot.subscriptions is not None
            or any(stream.received is not None for stream in context.publishes.streams.values())
        ),
        "needs the servers' subscriptions: use the system or the monitor source, with publishes on",
    ),
    Need.SECOND_POLL: _Requirement(
        lambda context: context.earlier is not None and context.seconds > 0,
        "needs a second poll: --watch 60s",
    ),
    Need.HISTORY: _Requirement(
        lambda context: context.history is not None,
        "needs the rollups of an archive: --rollups PATH, or audit.rollups in the settings",
    ),
    Need.MESSAGES: _Requirement(
        lambda context: context.messages is not None,
        "needs a sample of messages: --sample-messages, and the account source",
    ),
}


def evaluate(context: AuditContext, checks: Sequence[Check], known: frozenset[str]) -> Report:
    """`known`: the codes of all checks, to detect ignored codes that match no check."""
    started = time.perf_counter()
    suppressions = Suppressions.of(context)
    findings: list[ReportedFinding] = []
    not_evaluated: list[NotEvaluated] = []
    for check in checks:
        unmet = _unmet_needs(check, context)
        if unmet:
            not_evaluated.append(NotEvaluated(check, "; ".join(unmet)))
            continue
        try:
            found = list(check.find(context))
        except Exception as error:  # one broken check must not stop the others
            logger.debug("check %s failed", check.code, exc_info=True)
            reason = f"internal error: {type(error).__name__}: {error}"
            not_evaluated.append(NotEvaluated(check, reason, broken=True))
            continue
        not_evaluated.extend(_unknown(check, found))
        findings += _reported(check, found, suppressions)
    return Report(
        system=context.snapshot.system,
        taken=context.snapshot.taken,
        findings=in_order(findings),
        not_evaluated=tuple(not_evaluated),
        unknown_ignores=suppressions.unknown_ignores(known),
        checks=len(checks),
        seconds=time.perf_counter() - started,
    )


def _unmet_needs(check: Check, context: AuditContext) -> list[str]:
    unmet = [
        requirement.reason
        for need, requirement in _REQUIREMENTS.items()
        if need in check.needs and not requirement.is_met(context)
    ]
    versions = (row.version for row in context.servers if row.version)
    oldest = min(versions, key=version_numbers, default="")
    if oldest and version_numbers(oldest) < version_numbers(check.since):
        unmet.append(f"needs servers since {check.since}; the oldest server is {oldest}")
    return unmet


def _reported(
    check: Check, found: Iterable[Finding | Unknown], suppressions: Suppressions
) -> list[ReportedFinding]:
    findings = (one for one in found if isinstance(one, Finding))
    return [ReportedFinding(check, one, suppressions.muted_by(check.code, one)) for one in findings]


def _unknown(check: Check, found: Iterable[Finding | Unknown]) -> Iterator[NotEvaluated]:
    """One entry per reason, however many assets share it."""
    reasons = Counter(one.reason for one in found if isinstance(one, Unknown))
    for reason, subjects in reasons.items():
        yield NotEvaluated(check, reason, subjects)
