"""What came from Alertmanager: the messages as a phone shows them, and the facts behind them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

# A phone that rang all night need not remember everything.
MESSAGES_KEPT: Final = 200
PREFIX: Final = "JetStream"

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Message:
    """One notification, in the words of our templates."""

    receiver: str
    title: str
    text: str
    over: bool
    at: datetime


@dataclass
class NotificationPreview:
    messages: list[Message] = field(default_factory=list)
    forgotten: int = 0
    _groups: dict[str, frozenset[Labels]] = field(default_factory=dict)

    def take_message(self, receiver: str, body: Mapping[str, Any], now: datetime) -> None:
        """As Slack gets it."""
        for part in body.get("attachments", ()):
            over = part.get("color") == "good"
            message = Message(
                receiver, part.get("title", ""), part.get("text", "").strip(), over, now
            )
            self.messages.append(message)
        surplus = max(0, len(self.messages) - MESSAGES_KEPT)
        self.forgotten += surplus
        del self.messages[:surplus]

    def take_facts(self, body: Mapping[str, Any]) -> None:
        """As a webhook gets it: which alerts of a group fire now."""
        firing = (each for each in body["alerts"] if each["status"] == "firing")
        self._groups[body["groupKey"]] = frozenset(
            frozenset(each["labels"].items()) for each in firing
        )

    def firing(self) -> list[dict[str, str]]:
        """The labels of all that fires, the most urgent first."""
        found = [dict(labels) for group in self._groups.values() for labels in group]
        order = {"critical": 0, "warning": 1}
        return sorted(
            found, key=lambda each: (order.get(each["severity"], 2), sorted(each.items()))
        )

    def tells_of(self, alerts: tuple[str, ...], place: str) -> list[str]:
        """Those of these alerts that fire for an asset (`STREAM` or `STREAM > consumer`)."""
        stream, _, consumer = place.partition(" > ")
        return [
            labels["alertname"]
            for labels in self.firing()
            if labels["alertname"].removeprefix(PREFIX) in alerts
            and labels.get("stream", stream) == stream
            and labels.get("consumer", consumer) == consumer
        ]


def now() -> datetime:
    return datetime.now(UTC)
