"""Ignored checks: codes in the metadata of streams and consumers, and in the settings. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from exporter.audit.check import Finding
from exporter.audit.context import AuditContext
from exporter.audit.report import MutedBy, UnknownIgnore
from exporter.subscription_counts import ConsumerKey, StreamKey


@dataclass(frozen=True, slots=True)
class Suppressions:
    everywhere: frozenset[str]
    streams: Mapping[StreamKey, tuple[str, ...]]
    consumers: Mapping[ConsumerKey, tuple[str, ...]]

    @classmethod
    def of(cls, context: AuditContext) -> Suppressions:
        return cls(
            frozenset(context.settings.ignore),
            {
                (row.account, row.name): row.config.notes.ignore
                for row in context.snapshot.streams
                if row.config is not None and row.config.notes.ignore
            },
            {
                (row.account, row.stream, row.name): row.config.notes.ignore
                for row in context.snapshot.consumers
                if row.config is not None and row.config.notes.ignore
            },
        )

    def muted_by(self, code: str, finding: Finding) -> MutedBy | None:
        """Codes in the metadata of a stream also apply to its consumers."""
        if code in self.everywhere:
            return MutedBy.SETTINGS
        stream = (finding.account, finding.stream)
        if finding.consumer and code in self.consumers.get((*stream, finding.consumer), ()):
            return MutedBy.CONSUMER
        return MutedBy.STREAM if code in self.streams.get(stream, ()) else None

    def unknown_ignores(self, known: frozenset[str]) -> tuple[UnknownIgnore, ...]:
        """Ignored codes that match no check, most likely misspelt."""
        return tuple(sorted(self._unknown_ignores(known), key=lambda one: (one.subject, one.code)))

    def _unknown_ignores(self, known: frozenset[str]) -> Iterator[UnknownIgnore]:
        for code in self.everywhere - known:
            yield UnknownIgnore(code, MutedBy.SETTINGS.value)
        for (_, stream), codes in self.streams.items():
            yield from (UnknownIgnore(code, stream) for code in codes if code not in known)
        for (_, stream, consumer), codes in self.consumers.items():
            name = f"{stream} > {consumer}"
            yield from (UnknownIgnore(code, name) for code in codes if code not in known)
