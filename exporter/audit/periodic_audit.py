"""The audit of one running system: when it is made, and what it remembers from the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from exporter.audit.check import Check, Finding
from exporter.audit.context import AuditContext, AuditSettings, History
from exporter.audit.evaluation import judge
from exporter.audit.registry import all_checks, codes
from exporter.audit.report import Report, Told, in_order
from exporter.signals.publishes.engine import PublishSignals

# Two looks that are further apart tell rates and growth better; publishes are read every minute.
SECOND_LOOK_SECONDS = 300.0
# Above so many the earlier look keeps only those that are ever compared: whose copies lag.
MOST_EARLIER_CONSUMERS = 20_000
# Of the time: on a system so large that an audit takes seconds, it is made less often.
LARGEST_SHARE = 0.05
# What was found of an asset that does not answer stays for so long.
CARRIED_SECONDS = 3600.0

Key = tuple[str, str, str, str, str]


def _no_history() -> History | None:
    return None


@dataclass(slots=True)
class AuditState:
    """`history` may read files: an audit runs off the event loop."""

    interval: float = 60.0
    settings: AuditSettings = field(default_factory=AuditSettings)
    history: Callable[[], History | None] = _no_history
    checks: Sequence[Check] = field(default_factory=all_checks)
    report: Report | None = None  # the last one
    _past: list[AuditContext] = field(default_factory=list)  # the oldest first
    _carried: dict[Key, float] = field(default_factory=dict)  # -> since when

    def look(self, scene: AuditContext) -> Report | None:
        """The last report, made anew when it is time; `scene` brings what this poll found."""
        now = scene.now
        if self.report is not None and 0 <= now - self.report.taken < self._pause(self.report):
            return self.report
        earlier = self._past[0] if self._past else None
        seconds = now - earlier.now if earlier else 0.0
        scene = replace(
            scene,
            earlier=earlier,
            seconds=seconds,
            settings=self.settings,
            history=self.history(),
        )
        found = judge(scene, self.checks, codes())
        self.report = self._with_carried(found, scene)
        self._remember(scene)
        return self.report

    def _pause(self, report: Report) -> float:
        return max(self.interval, report.seconds / LARGEST_SHARE)

    def _remember(self, scene: AuditContext) -> None:
        if self._past and scene.now - self._past[-1].now < SECOND_LOOK_SECONDS:
            return
        self._past.append(_slim(scene))
        del self._past[:-2]

    def _with_carried(self, found: Report, scene: AuditContext) -> Report:
        """An asset that does not answer has not been mended: what was found of it stays."""
        carried = {one.key: one for one in self._unseen(found, scene)}
        self._carried = {key: self._carried.get(key, scene.now) for key in carried}
        kept = [
            one for key, one in carried.items() if scene.now - self._carried[key] <= CARRIED_SECONDS
        ]
        return replace(found, told=in_order((*found.told, *kept))) if kept else found

    def _unseen(self, found: Report, scene: AuditContext) -> Iterator[Told]:
        if self.report is None or _everybody_answers(scene):
            return
        present = {one.key for one in found.told}
        for one in self.report.told:
            if one.key not in present and not _was_judged(scene, one.finding):
                yield one


def _everybody_answers(scene: AuditContext) -> bool:
    seen = scene.snapshot
    return (
        seen.complete
        and all(row.up for row in seen.servers)
        and all(row.up and row.config is not None for row in seen.streams)
        and all(row.up and row.config is not None for row in seen.consumers)
    )


def _was_judged(scene: AuditContext, finding: Finding) -> bool:
    """Whether this look could have found it again; what is gone cannot fail any more."""
    if finding.consumer:
        consumer = scene.consumer_by_key.get((finding.account, finding.stream, finding.consumer))
        if consumer is not None:
            return consumer.up and consumer.config is not None
    elif finding.stream:
        stream = scene.stream_by_key.get((finding.account, finding.stream))
        if stream is not None:
            return stream.up and stream.config is not None
    elif finding.server:
        return any(row.up for row in scene.servers if row.name == finding.server)
    return scene.snapshot.complete


def _slim(scene: AuditContext) -> AuditContext:
    """What a later look compares with, without what would only fill the memory until then."""
    snapshot = scene.snapshot
    consumers = snapshot.consumers
    if len(consumers) > MOST_EARLIER_CONSUMERS:
        consumers = tuple(row for row in consumers if any(peer.lag for peer in row.replicas))
    kept = msgspec.structs.replace(snapshot, consumers=consumers, subscriptions=None)
    publishes = PublishSignals(scene.publishes.streams, {})
    return AuditContext(snapshot=kept, now=scene.now, publishes=publishes, settings=scene.settings)
