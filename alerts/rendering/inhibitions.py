"""Which alerts stay quiet while another one, which explains them, is firing. None of them can mute
every page of a system."""

from __future__ import annotations

from dataclasses import dataclass

from alerts.rule import PREFIX
from exporter.catalog import CONSUMER, SERVER, STREAM, SYSTEM


@dataclass(frozen=True, slots=True)
class Inhibition:
    source: str  # an alert, without the prefix
    quiet: tuple[str, ...]  # alerts, or patterns of them; of all severities but critical if none
    same: tuple[str, ...]  # the labels that both must share
    why: str

    @property
    def target(self) -> str:
        """The matcher of Alertmanager."""
        if not self.quiet:
            return 'severity =~ "warning|info"'
        return f'alertname =~ "{"|".join(PREFIX + name for name in self.quiet)}"'


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
        "Without a meta leader much is late and listed as missing; pages still come through.",
    ),
    Inhibition(
        "StreamNoLeader",
        ("Consumer.+",),
        STREAM,
        "The consumers of a leaderless stream stand still with it.",
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
        "A consumer that is blocked by unacknowledged messages stalls, falls behind and sends again.",
    ),
    Inhibition(
        "ConsumerAckFloorStalled",
        ("ConsumerAckWaitTooShort",),
        CONSUMER,
        "One message that is never finished makes the mean time to ack long.",
    ),
    Inhibition(
        "ConsumerNakLoop",
        ("ConsumerRedeliveryHigh",),
        CONSUMER,
        "What is refused is delivered again.",
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
        "It will not become full: it is.",
    ),
    Inhibition(
        "AccountStorageFull",
        ("AccountStorageHigh",),
        ("system", "account", "tier", "limit"),
        "The page says it already.",
    ),
)
