"""What an event or a finding is about: labels from system to server."""

from __future__ import annotations

from dataclasses import dataclass

from spark_rollups.report.facts.assets import Assets


@dataclass(frozen=True, slots=True)
class Subject:
    system: str = ""
    account: str = ""
    stream: str = ""
    consumer: str = ""
    server: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """From the system down; the parent of a server is its system."""
        return tuple(
            filter(None, (self.system, self.account, self.stream, self.consumer, self.server))
        )

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else "the whole system"

    @property
    def path(self) -> str:
        return " / ".join(self.parts[:-1])


def subject_of(assets: Assets, index: int) -> Subject:
    named = dict(zip(assets.labels, assets.names[index], strict=True))
    return Subject(**{name: named.get(name, "") for name in Subject.__slots__})
