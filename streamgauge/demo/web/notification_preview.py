"""The notifications that Alertmanager sent, and the alerts that fire now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

MAX_MESSAGES_SHOWN: Final = 200
PREFIX: Final = "JetStream"

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Message:
    """One notification, rendered by our templates."""

    receiver: str
    title: str
    text: str
    resolved: bool
    at: datetime


@dataclass
class NotificationPreview:
    messages: list[Message] = field(default_factory=list)
    dropped: int = 0
    _groups: dict[str, frozenset[Labels]] = field(default_factory=dict)

    def add_message(self, receiver: str, body: Mapping[str, Any], now: datetime) -> None:
        """In the format of a Slack webhook."""
        for part in body.get("attachments", ()):
            resolved = part.get("color") == "good"
            message = Message(
                receiver, part.get("title", ""), part.get("text", "").strip(), resolved, now
            )
            self.messages.append(message)
        surplus = max(0, len(self.messages) - MAX_MESSAGES_SHOWN)
        self.dropped += surplus
        del self.messages[:surplus]

    def update_alerts(self, body: Mapping[str, Any]) -> None:
        """In the format of an Alertmanager webhook: the alerts of one group."""
        firing = (each for each in body["alerts"] if each["status"] == "firing")
        self._groups[body["groupKey"]] = frozenset(
            frozenset(each["labels"].items()) for each in firing
        )

    def firing(self) -> list[dict[str, str]]:
        """The labels of all firing alerts, critical ones first."""
        found = [dict(labels) for group in self._groups.values() for labels in group]
        order = {"critical": 0, "warning": 1}
        return sorted(
            found, key=lambda each: (order.get(each["severity"], 2), sorted(each.items()))
        )

    def firing_alerts(self, alerts: tuple[str, ...], place: str) -> list[str]:
        """Which of `alerts` fire for an asset (`STREAM` or `STREAM > consumer`)."""
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
