"""Ignored checks: codes in the metadata of streams and consumers, and in the settings. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from exporter.audit.check import Finding
from exporter.audit.context import AuditContext
from exporter.audit.report import MutedBy, UnknownIgnore
from exporter.subscription_counts import ConsumerKey, StreamKey

ALL = "all"
_ALERT = "JetStream"  # alerts may be ignored too: their rules do that


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
        if finding.consumer and _has(self.consumers.get((*stream, finding.consumer), ()), code):
            return MutedBy.CONSUMER
        return MutedBy.STREAM if _has(self.streams.get(stream, ()), code) else None

    def unknown_ignores(self, known: frozenset[str]) -> tuple[UnknownIgnore, ...]:
        """Ignored codes that match no check, most likely misspelt."""
        return tuple(sorted(self._unknown_ignores(known), key=lambda one: (one.subject, one.code)))

    def _unknown_ignores(self, known: frozenset[str]) -> Iterator[UnknownIgnore]:
        for code in self.everywhere - known:
            yield UnknownIgnore(code, MutedBy.SETTINGS.value)
        for (_, stream), codes in self.streams.items():
            yield from (UnknownIgnore(code, stream) for code in _unknown(codes, known))
        for (_, stream, consumer), codes in self.consumers.items():
            name = f"{stream} > {consumer}"
            yield from (UnknownIgnore(code, name) for code in _unknown(codes, known))


def _has(ignored: tuple[str, ...], code: str) -> bool:
    return code in ignored or ALL in ignored


def _unknown(ignored: tuple[str, ...], known: frozenset[str]) -> Iterator[str]:
    """Names of alerts are not known here."""
    return (
        one for one in ignored if one not in known and one != ALL and not one.startswith(_ALERT)
    )
