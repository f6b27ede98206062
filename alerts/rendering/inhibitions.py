"""Inhibitions: an alert that explains others mutes them. None can mute every page of a system."""

from __future__ import annotations

from dataclasses import dataclass

from alerts.rule import PREFIX
from exporter.catalog import CONSUMER, SERVER, STREAM, SYSTEM


@dataclass(frozen=True, slots=True)
class Inhibition:
    source: str  # an alert, without the prefix
    targets: tuple[str, ...]  # alerts or patterns; none: all alerts that are not critical
    equal: tuple[str, ...]  # the labels that must be equal
    why: str

    @property
    def target_matcher(self) -> str:
        """The matcher of Alertmanager."""
        if not self.targets:
            return 'severity =~ "warning|info"'
        return f'alertname =~ "{"|".join(PREFIX + name for name in self.targets)}"'


INHIBITIONS = (
    Inhibition(
        "ServerDown",
        ("StreamReplicaOffline", "StreamReplicaLagging", "MetaPeerOffline"),
        SERVER,
        "A server that is down holds replicas that are down.",
    ),
    Inhibition(
        "MetaLeaderMissing",
        (),
        SYSTEM,
        "Without a meta leader many assets are late or missing; pages are not muted.",
    ),
    Inhibition(
        "StreamNoLeader",
        ("Consumer.+",),
        STREAM,
        "The consumers of a stream without a leader get nothing.",
    ),
    Inhibition(
        "ConsumerAckPendingFull",
        (
            "ConsumerStalled",
            "ConsumerBacklogGrowing",
            "ConsumerAckPendingHigh",
            "ConsumerAckWaitTooShort",
            "ConsumerRedeliveryHigh",
        ),
        CONSUMER,
        "A consumer that is blocked by unacknowledged messages stalls, falls behind and redelivers.",
    ),
    Inhibition(
        "ConsumerAckFloorStalled",
        ("ConsumerAckWaitTooShort",),
        CONSUMER,
        "One message that is never acknowledged raises the mean time to ack.",
    ),
    Inhibition(
        "ConsumerNakLoop",
        ("ConsumerRedeliveryHigh",),
        CONSUMER,
        "A message with a nak is redelivered.",
    ),
    Inhibition(
        "ConsumerStalled",
        ("ConsumerBacklogGrowing",),
        CONSUMER,
        "A consumer that gets nothing falls behind.",
    ),
    Inhibition(
        "StreamFull",
        ("StreamFillingUp", "StreamForecastFull"),
        (*STREAM, "limit"),
        "It is full already.",
    ),
    Inhibition(
        "AccountStorageFull",
        ("AccountStorageHigh",),
        ("system", "account", "tier", "limit"),
        "The page covers it.",
    ),
)
