"""Label texts, made once per asset and kept from poll to poll."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from exporter.exposition import label_head

Config = TypeVar("Config")


@dataclass(slots=True)
class HeadBook:
    """The head of every row by its identity; what a poll does not name is forgotten."""

    names: tuple[str, ...]
    system: str
    _kept: dict[tuple[str, ...], str] = field(default_factory=dict)

    def heads(self, identities: Iterable[tuple[str, ...]]) -> list[str]:
        before, now = self._kept, {}
        heads = []
        for identity in identities:
            head = before.get(identity)
            if head is None:
                head = label_head(self.names, (self.system, *identity))
            now[identity] = head
            heads.append(head)
        self._kept = now
        return heads


@dataclass(slots=True)
class InfoBook:
    """The long heads of info series; made anew only when what they tell has changed."""

    _kept: dict[str, tuple[object, str, int, str]] = field(default_factory=dict)

    def heads(
        self,
        rows: Iterable[tuple[str, Config, str, int]],
        make: Callable[[str, Config, str, int], str],
    ) -> list[str]:
        """Rows are a head, the configuration, the leader and the number of peers."""
        before, now = self._kept, {}
        told = []
        for head, config, leader, peers in rows:
            kept = before.get(head)
            if kept is None or kept[0] is not config or kept[1] != leader or kept[2] != peers:
                kept = (config, leader, peers, make(head, config, leader, peers))
            now[head] = kept
            told.append(kept[3])
        self._kept = now
        return told


def yes_no(value: bool) -> str:
    return "true" if value else "false"
