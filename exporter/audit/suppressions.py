"""Who does not want to hear of which check: owners by metadata, operators by configuration. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from exporter.audit.check import Finding
from exporter.audit.context import AuditContext
from exporter.audit.report import MutedBy, StrayMute
from exporter.subscription_counts import ConsumerKey, StreamKey


@dataclass(frozen=True, slots=True)
class Mutes:
    everywhere: frozenset[str]
    streams: Mapping[StreamKey, tuple[str, ...]]
    consumers: Mapping[ConsumerKey, tuple[str, ...]]

    @classmethod
    def of(cls, scene: AuditContext) -> Mutes:
        return cls(
            frozenset(scene.settings.ignore),
            {
                (row.account, row.name): row.config.notes.ignore
                for row in scene.snapshot.streams
                if row.config is not None and row.config.notes.ignore
            },
            {
                (row.account, row.stream, row.name): row.config.notes.ignore
                for row in scene.snapshot.consumers
                if row.config is not None and row.config.notes.ignore
            },
        )

    def muted_by(self, code: str, finding: Finding) -> MutedBy | None:
        """A stream's owner also speaks for its consumers."""
        if code in self.everywhere:
            return MutedBy.SETTINGS
        stream = (finding.account, finding.stream)
        if finding.consumer and code in self.consumers.get((*stream, finding.consumer), ()):
            return MutedBy.CONSUMER
        return MutedBy.STREAM if code in self.streams.get(stream, ()) else None

    def strays(self, known: frozenset[str]) -> tuple[StrayMute, ...]:
        """What was muted and cannot be found: most likely misspelt, so the finding still shows."""
        return tuple(sorted(self._strays(known), key=lambda one: (one.subject, one.code)))

    def _strays(self, known: frozenset[str]) -> Iterator[StrayMute]:
        for code in self.everywhere - known:
            yield StrayMute(code, MutedBy.SETTINGS.value)
        for (_, stream), codes in self.streams.items():
            yield from (StrayMute(code, stream) for code in codes if code not in known)
        for (_, stream, consumer), codes in self.consumers.items():
            name = f"{stream} > {consumer}"
            yield from (StrayMute(code, name) for code in codes if code not in known)
