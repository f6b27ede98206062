"""Who is responsible for a stream, a consumer or a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from exporter import catalog as c
from spark_rollups.report.facts.assets import Name, Subject, subject_of
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.reading import latest_labels
from streamgauge.serving.settings.loader import InvalidSettingError, setting

_INFO_DAYS = 7  # metadata of consumers is read for the last days only


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRule:
    """The owner of all assets that match; patterns as in the shell."""

    system: str = setting("*", "Pattern of the system, like `prod*`.")
    account: str = setting("*", "Pattern of the account.")
    stream: str = setting("*", "Pattern of the stream.")
    consumer: str = setting("*", "Pattern of the consumer.")
    server: str = setting("*", "Pattern of the server.")
    owner: str = setting("", "The person or mailbox that is responsible.")
    team: str = setting("", "The team that is responsible.")

    def __post_init__(self) -> None:
        if not self.owner and not self.team:
            raise InvalidSettingError("needs an owner or a team", "owner")


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    team: str = ""
    owner: str = ""

    @property
    def name(self) -> str:
        """Of the chapter and of `--owner`; "" without an owner."""
        return self.team or self.owner

    @property
    def text(self) -> str:
        if self.team and self.owner:
            return f"{self.owner}, team {self.team}"
        return f"team {self.team}" if self.team else self.owner or "no owner set"


@dataclass(frozen=True, slots=True)
class Owners:
    """The metadata of the asset wins, then that of its stream, then the first matching rule."""

    consumers: Mapping[Name, Mapping[str, str]]
    streams: Mapping[Name, Mapping[str, str]]
    rules: Sequence[OwnerRule]

    def of(self, subject: Subject) -> Owner:
        stream = (subject.system, subject.account, subject.stream)
        for labels in (
            self.consumers.get((*stream, subject.consumer), {}) if subject.consumer else {},
            self.streams.get(stream, {}) if subject.stream else {},
        ):
            if labels.get("owner_team") or labels.get("owner_name"):
                return Owner(labels.get("owner_team", ""), labels.get("owner_name", ""))
        found = next((rule for rule in self.rules if _matches(rule, subject)), None)
        return Owner() if found is None else Owner(found.team, found.owner)


def _matches(rule: OwnerRule, subject: Subject) -> bool:
    """A pattern other than * needs a value: a rule for streams is not one for servers."""
    return all(
        pattern == "*" or (bool(value) and fnmatchcase(value, pattern))
        for pattern, value in (
            (getattr(rule, name), getattr(subject, name)) for name in Subject.__slots__
        )
    )


def owners_of(facts: Facts, rules: Sequence[OwnerRule]) -> Owners:
    days = facts.days[-_INFO_DAYS:]
    consumers = latest_labels(facts.source, c.CONSUMER_INFO, facts.consumers.now, days)
    return Owners(consumers, facts.stream_info, rules)


def owned_assets(facts: Facts, owners: Owners) -> dict[Subject, Owner]:
    """The owner of each asset seen in the month; one without an owner has "" as name."""
    return {
        subject: owners.of(subject)
        for pair in (facts.streams, facts.consumers, facts.servers, facts.accounts)
        for index in np.flatnonzero(pair.now.seen).tolist()
        for subject in (subject_of(pair.now, index),)
    }
