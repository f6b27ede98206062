"""Inhibitions: an alert that explains others mutes them. None can mute every page of a system."""

from __future__ import annotations

from dataclasses import dataclass

from alerts.open_alerts import PREFIX
from exporter.catalog import CONSUMER, SERVER, STREAM, SYSTEM
from streamgauge.promql.selectors import SCRAPE


@dataclass(frozen=True, slots=True)
class Inhibition:
    source: str  # an alert, without the prefix
    targets: tuple[str, ...]  # alerts or patterns; none: all alerts that are not critical
    asset: tuple[str, ...]  # the labels of the asset that both must have in common
    why: str

    @property
    def equal(self) -> tuple[str, ...]:
        """With the labels of the scrape: one cluster must not mute another."""
        return (*SCRAPE, *self.asset)

    @property
    def target_matcher(self) -> str:
        """The matcher of Alertmanager."""
        if not self.targets:
            return 'severity =~ "warning|info"'
        return f'alertname =~ "{"|".join(PREFIX + name for name in self.targets)}"'


INHIBITIONS = (
    Inhibition(
        "SystemUnreachable",
        (),
        SYSTEM,
        "Nothing of the system responds; pages that were open stay.",
    ),
    Inhibition(
        "SystemUnmonitored",
        ("ExporterDown",),
        (),
        "It was the last exporter of a system.",
    ),
    Inhibition(
        "ServerDown",
        ("StreamReplicaOffline", "StreamReplicaLagging", "MetaPeerOffline"),
        SERVER,
        "A server that is down holds replicas that are down.",
    ),
    Inhibition(
        "ServerDown",
        ("ExporterPartial",),
        SYSTEM,
        "Requests to a server that is down get no response.",
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
        "StreamNoLeader",
        ("ConsumersFewer",),
        SYSTEM,
        "The consumers of a stream without a leader are not counted.",
    ),
    Inhibition(
        "ServerDown",
        ("ConsumersFewer",),
        SYSTEM,
        "What only a server that is down holds is not counted.",
    ),
    Inhibition(
        "ConsumerAckPendingFull",
        (
            "ConsumerStalled",
            "ConsumerBacklogGrowing",
            "ConsumerAckPendingHigh",
            "ConsumerAckFloorGapHigh",
            "ConsumerAckFloorStalled",
            "ConsumerAckWaitTooShort",
            "ConsumerRedeliveryHigh",
            "ConsumerRedeliveryLoop",
            "ConsumerNakLoop",
        ),
        CONSUMER,
        "A consumer that is blocked by unacknowledged messages stalls, falls behind and redelivers.",
    ),
    Inhibition(
        "ConsumerRedeliveryLoop",
        (
            "ConsumerStalled",
            "ConsumerBacklogGrowing",
            "ConsumerAckPendingHigh",
            "ConsumerAckFloorGapHigh",
            "ConsumerAckFloorStalled",
            "ConsumerAckWaitTooShort",
            "ConsumerRedeliveryHigh",
            "ConsumerNakLoop",
        ),
        CONSUMER,
        "A consumer that redelivers and finishes nothing fills up and falls behind.",
    ),
    Inhibition(
        "ConsumerNoWorkerPulls",
        ("ConsumerAckFloorStalled", "ConsumerBacklogGrowing"),
        CONSUMER,
        "Without workers nothing is acknowledged.",
    ),
    Inhibition(
        "ConsumerAckWaitTooShort",
        ("ConsumerRedeliveryHigh",),
        CONSUMER,
        "Acknowledgements that are too late cause the redeliveries.",
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
        (
            "ConsumerBacklogGrowing",
            "ConsumerAckFloorStalled",
            "ConsumerNoWorkerPulls",
            "ConsumerNotBound",
        ),
        CONSUMER,
        "A consumer that gets nothing falls behind; the page covers missing workers.",
    ),
    Inhibition(
        "StreamRecreated",
        ("ConsumerRecreated", "ConsumerRemoved"),
        STREAM,
        "The consumers of a stream go with it.",
    ),
    Inhibition(
        "PublishConflictsHigh",
        ("PublishesNotStored",),
        STREAM,
        "A rejected publish is not stored.",
    ),
    Inhibition(
        "WorkqueueStuckMessages",
        ("ConsumerMessagesAbandoned",),
        STREAM,
        "Messages that were given up stay in a work queue.",
    ),
    Inhibition(
        "StreamFull",
        ("StreamFillingUp", "StreamForecastFull"),
        STREAM,
        "It is full already.",
    ),
    Inhibition(
        "AccountStorageFull",
        ("AccountStorageHigh",),
        ("system", "account", "tier", "limit"),
        "The page covers it.",
    ),
)
