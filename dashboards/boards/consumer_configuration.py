"""Collapsed rows of the consumer board: placement, configuration, audit findings."""

from __future__ import annotations

from dashboards.panels import shared
from dashboards.panels.colours import (
    INFO,
    ONLINE_MAPPING,
    UP_MAPPING,
    MappedValue,
    ValueMapping,
)
from dashboards.panels.model import Column, Guide, Panel, Query, StateTimeline, Target
from dashboards.panels.variables import CONSUMER_OF_STREAM as NAME
from dashboards.queries import Scope
from exporter import catalog as c


def placement(q: Scope) -> tuple[Panel, ...]:
    return (
        StateTimeline(
            title="Leader of the consumer",
            guide=Guide(
                "Which server led it, one bar per server.",
                "Many short bars: elections. No bar: no leader.",
                "Check the servers that alternate: network, disk, load.",
            ),
            queries=(Query(q.info(c.CONSUMER_INFO, "leader"), f"{NAME} on {{{{leader}}}}"),),
            mapping=ValueMapping((MappedValue(1, "leader", INFO),)),
            width=8,
        ),
        StateTimeline(
            title="Replicas of the consumer",
            guide=Guide(
                "Replicas that its leader reports as offline.",
                "A red bar: one more may cost the quorum.",
                "Bring that server back.",
            ),
            queries=(Query(q.now(c.CONSUMER_REPLICA_OFFLINE), f"{NAME} on {{{{server}}}}"),),
            mapping=ONLINE_MAPPING,
            no_value="one replica",
            width=8,
        ),
        StateTimeline(
            title="Consumer has a leader",
            guide=Guide(
                "Whether its leader responded to the poll.",
                "A red bar: no deliveries and no acknowledgements.",
                "Bring its servers back; more than half of the replicas must be up.",
            ),
            queries=(Query(q.now(c.CONSUMER_UP), NAME),),
            mapping=UP_MAPPING,
            width=8,
        ),
    )


def configuration(q: Scope) -> tuple[Panel, ...]:
    labels = (
        "kind", "durable", "ack_policy", "deliver_policy", "replay_policy", "filtered",
        "priority_policy", "leader", "replicas",
    )  # fmt: skip
    return (
        shared.configuration(
            q,
            c.CONSUMER_INFO,
            labels,
            (
                Column("Max unacked", q.now(c.CONSUMER_MAX_ACK_PENDING)),
                Column("Ack wait", q.now(c.CONSUMER_ACK_WAIT_SECONDS), "s"),
                Column("Max deliver", q.now(c.CONSUMER_MAX_DELIVER)),
                Column("Max waiting", q.now(c.CONSUMER_MAX_WAITING)),
                Column("Backoff steps", q.now(c.CONSUMER_BACKOFF_STEPS)),
                Column("Retries last", q.now(c.CONSUMER_RETRY_HORIZON_SECONDS), "s"),
            ),
            identity=c.CONSUMER,
            bad="Without max_deliver a poison message is redelivered for ever. An ack_wait shorter "
            "than the work causes redeliveries.",
            links=(Target.STREAM,),
        ),
        shared.owner_limits(q, c.CONSUMER_THRESHOLD, "consumer"),
    )


def findings(q: Scope) -> tuple[Panel, ...]:
    return (
        shared.audit_findings(
            q,
            c.CONSUMER_CONFIG_FINDING,
            "Checks of the audit that this consumer's configuration fails.",
        ),
    )
