"""Label texts, made once per asset and kept from poll to poll."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.exposition import label_head


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


def yes_no(value: bool) -> str:
    return "true" if value else "false"
