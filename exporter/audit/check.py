"""What a check is: its facts in words, and the pure function that finds what fails it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from exporter.audit.context import AuditContext

_CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VERSION = re.compile(r"2\.\d+(\.\d+)?")


class Severity(StrEnum):
    """How much a finding matters; the order of `SEVERITIES` is the order of a report."""

    INFO = "info"
    WARN = "warn"
    CRIT = "crit"

    @property
    def rank(self) -> int:
        return SEVERITIES.index(self)


SEVERITIES = (Severity.CRIT, Severity.WARN, Severity.INFO)  # the worst first


class Subject(StrEnum):
    CONSUMER = "consumer"
    STREAM = "stream"
    ACCOUNT = "account"
    SERVER = "server"
    META = "meta"


class Need(StrEnum):
    """What a check cannot do without, beside the rows of streams and consumers."""

    SERVERS = "servers"  # rows of servers
    SUBSCRIPTIONS = "subscriptions"  # the counters of the servers' own subscriptions
    SECOND_LOOK = "second look"  # two snapshots with time between them
    HISTORY = "history"  # rollups of the archive
    MESSAGES = "messages"  # a sample of stored messages, which somebody asked for


# gc=False here as in the model: a large system may fail a check a hundred thousand times.
class Finding(Struct, frozen=True, kw_only=True, gc=False):
    """One asset that fails a check. `evidence`: one line with the numbers that show it."""

    evidence: str
    account: str = ""
    stream: str = ""
    consumer: str = ""
    server: str = ""


class Unknown(Struct, frozen=True, kw_only=True, gc=False):
    """One asset that a check could not judge, and why."""

    reason: str
    account: str = ""
    stream: str = ""
    consumer: str = ""
    server: str = ""


class CheckError(ValueError):
    """A check whose facts would mislead its readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    code: str  # permanent: owners mute by it, rules and reports name it
    severity: Severity
    subject: Subject
    title: str
    meaning: str  # one sentence: what is the case
    condition: str  # exactly when it is found
    why: str  # what it will cost, one day
    remedy: str  # what to do, in prose
    commands: tuple[str, ...]  # lines for the nats CLI; words in capitals are to be filled in
    needs: frozenset[Need] = frozenset()
    since: str = "2.9"  # the first server version that tells enough
    find: Callable[[AuditContext], Iterator[Finding | Unknown]]

    def __post_init__(self) -> None:
        for wrong, why in self._faults():
            if wrong:
                raise CheckError(f"{self.code}: {why}")

    def _faults(self) -> tuple[tuple[bool, str], ...]:
        prose = (self.meaning, self.condition, self.why, self.remedy)
        return (
            (not _CODE.fullmatch(self.code), "the code is not lower-case words with dashes"),
            (not self.title or self.title.endswith("."), "the title is empty or a sentence"),
            (any(not text.endswith(".") for text in prose), "a text is not whole sentences"),
            (any("\n" in text for text in (self.title, *prose)), "a text spans lines"),
            (any(not line.startswith("nats ") for line in self.commands), "a command is not nats"),
            (not _VERSION.fullmatch(self.since), "since is not a server version"),
        )
