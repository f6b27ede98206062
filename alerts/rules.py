"""All rules, by rule file."""

from __future__ import annotations

from collections.abc import Mapping

from alerts.rule import Alert, Group, Recording, RuleError
from alerts.subjects import (
    archive,
    board_recordings,
    consumer_acks,
    consumer_delivery,
    exporter,
    owners,
    publishing,
    server,
    stream_copies,
    stream_space,
    stream_state,
)

FILES: Mapping[str, tuple[Group, ...]] = {
    "consumer": consumer_delivery.GROUPS + consumer_acks.GROUPS,
    "stream": stream_state.GROUPS + stream_copies.GROUPS + publishing.GROUPS,
    "space": stream_space.GROUPS,
    "owners": owners.GROUPS,
    "server": server.GROUPS,
    "exporter": exporter.GROUPS,
    "archive": archive.GROUPS,
    "boards": board_recordings.GROUPS,
}
GROUPS: tuple[Group, ...] = tuple(group for groups in FILES.values() for group in groups)
ALERTS: tuple[Alert, ...] = tuple(r for g in GROUPS for r in g.rules if isinstance(r, Alert))
RECORDINGS: tuple[Recording, ...] = tuple(
    r for g in GROUPS for r in g.rules if isinstance(r, Recording)
)
BY_NAME: Mapping[str, Alert] = {alert.full_name: alert for alert in ALERTS}

if len(BY_NAME) != len(ALERTS):
    raise RuleError("two alerts share a name")
