"""What a check is: its texts, its severity and the pure function that finds violations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from exporter.audit.context import AuditContext
from exporter.audit.severity import Severity

_CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VERSION = re.compile(r"2\.\d+(\.\d+)?")


class Subject(StrEnum):
    CONSUMER = "consumer"
    STREAM = "stream"
    ACCOUNT = "account"
    SERVER = "server"
    META = "meta"


class Need(StrEnum):
    """Data that a check requires, beside the rows of streams and consumers."""

    SERVERS = "servers"  # rows that servers report about themselves
    SUBSCRIPTIONS = "subscriptions"  # the counters of the servers' own subscriptions
    SECOND_POLL = "second poll"  # two snapshots with time between them
    HISTORY = "history"  # rollups of the archive
    MESSAGES = "messages"  # a sample of stored messages, only with --sample-messages


# gc=False as in the model: a large system may have a hundred thousand findings of one check.
class Finding(Struct, frozen=True, kw_only=True, gc=False):
    """One asset that violates a check. `evidence`: one line with the numbers."""

    evidence: str
    severity: Severity | None = None  # None: that of the check
    account: str = ""
    stream: str = ""
    consumer: str = ""
    server: str = ""


class Unknown(Struct, frozen=True, kw_only=True, gc=False):
    """One asset that a check could not evaluate, and why."""

    reason: str
    account: str = ""
    stream: str = ""
    consumer: str = ""
    server: str = ""


class CheckError(ValueError):
    """A check whose declaration is not valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    code: str  # permanent: used in metadata, settings, rules and reports
    severity: Severity
    subject: Subject
    title: str
    meaning: str  # one sentence: what the configuration does
    condition: str  # exactly when it is reported
    why: str  # the consequences
    remedy: str  # what to do
    commands: tuple[str, ...]  # for the nats CLI; words in capitals are placeholders
    needs: frozenset[Need] = frozenset()
    default: bool = False  # the server's own defaults give it: no finding by itself
    since: str = "2.9"  # the first server version that reports enough
    find: Callable[[AuditContext], Iterator[Finding | Unknown]]

    def __post_init__(self) -> None:
        for wrong, why in self._errors():
            if wrong:
                raise CheckError(f"{self.code}: {why}")

    def _errors(self) -> tuple[tuple[bool, str], ...]:
        prose = (self.meaning, self.condition, self.why, self.remedy)
        return (
            (not _CODE.fullmatch(self.code), "the code is not lower-case words with dashes"),
            (
                not self.title or self.title.endswith("."),
                "the title is empty or ends with a full stop",
            ),
            (any(not text.endswith(".") for text in prose), "a text does not end with a full stop"),
            (any("\n" in text for text in (self.title, *prose)), "a text has a line break"),
            (
                any(not line.startswith("nats ") for line in self.commands),
                "a command does not start with nats",
            ),
            (not _VERSION.fullmatch(self.since), "since is not a server version"),
            (self.default and self.severity is not Severity.INFO, "a default is not info"),
        )
