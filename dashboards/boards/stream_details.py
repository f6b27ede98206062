"""Lower rows of the stream board: events, replicas, mirror and sources, configuration, findings."""

from __future__ import annotations

from alerts import thresholds as t
from dashboards.panels import shared
from dashboards.panels.colours import (
    BAD,
    INFO,
    ONLINE_MAPPING,
    YES_IS_BAD,
    MappedValue,
    ValueMapping,
    rising,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Column,
    Guide,
    Override,
    Panel,
    Query,
    StateTimeline,
    TimeSeries,
)
from dashboards.panels.variables import CONSUMER_OF_STREAM
from dashboards.queries import RATE_WINDOW, Scope
from exporter import catalog as c

_ON_SERVER = "{{stream}} on {{server}}"
_FEW = 10
_FROM_SOURCE = "{{stream}} from {{source}}"


def events(q: Scope) -> tuple[Panel, ...]:
    """The events of the annotations, counted."""
    happened = (
        ("elections", c.STREAM_LEADER_CHANGES),
        ("sequence went back", c.STREAM_SEQUENCE_REGRESSIONS),
        ("recreated", c.STREAM_RECREATED),
        ("restored", c.STREAM_RESTORES),
        ("quorum lost", c.STREAM_QUORUM_LOST),
        ("durables removed", c.STREAM_CONSUMERS_REMOVED),
    )
    return (
        TimeSeries(
            title="Events of the stream",
            guide=Guide(
                "Elections, recreations, restores, lost quorum, deleted durable consumers, and "
                "sequences that went back.",
                "Sequence went back: acknowledged messages are lost.",
                "Find out who did it; after data loss compare with the records of publishers.",
            ),
            queries=tuple(
                Query(q.increase(metric, RATE_WINDOW), f"{name} {{{{stream}}}}")
                for name, metric in happened
            ),
            bars=True,
            overrides=(Override("/^(sequence|quorum)/", BAD),),
            no_value="no event seen",
        ),
        TimeSeries(
            title="Consumers ahead of the stream",
            guide=Guide(
                "Distance of a consumer beyond the end of the stream. No line is normal.",
                "Any line: the stream went back, by data loss, rollback or restore.",
                "Stop publishers, check the disks of the servers, compare the replicas.",
            ),
            queries=(
                Query(q.now(c.CONSUMER_AHEAD_OF_STREAM_MESSAGES).top(_FEW), CONSUMER_OF_STREAM),
            ),
            no_value="none seen",
        ),
    )


def replicas(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        *_replica_places(q),
        TimeSeries(
            title="Replica lag",
            guide=Guide(
                "Raft entries that each replica is behind, as the leader reports.",
                "Above the line and not falling: this replica would be missing after a failure.",
                "Check the disk and the network of that server.",
            ),
            queries=(Query(q.now(c.STREAM_REPLICA_LAG), _ON_SERVER),),
            steps=rising(bad=limits.of(t.REPLICA_LAG)),
            no_value="one replica",
            width=8,
        ),
        TimeSeries(
            title="Last contact with replicas",
            guide=Guide(
                "Time since the last contact of the leader with each replica.",
                "More than a few seconds.",
                "Check the network between the two servers.",
            ),
            queries=(Query(q.now(c.STREAM_REPLICA_ACTIVE_SECONDS), _ON_SERVER),),
            unit="s",
            no_value="one replica",
            width=8,
        ),
        TimeSeries(
            title="Replicas that differ",
            guide=Guide(
                "Difference between the message counts of a follower and the leader although the "
                "leader reports no lag. No line while the replicas are equal.",
                "Any line that stays: after an election consumers would get other messages.",
                "Rebuild the replica: remove it from the stream and add it again.",
            ),
            queries=(Query(q.now(c.STREAM_REPLICA_DIVERGENCE_MESSAGES), _ON_SERVER),),
            steps=rising(bad=limits.of(t.REPLICA_DIVERGENCE_MESSAGES)),
            no_value="none seen",
            width=8,
        ),
    )


def _replica_places(q: Scope) -> tuple[Panel, ...]:
    return (
        StateTimeline(
            title="Leader over time",
            guide=Guide(
                "Which server led the stream, one bar per server.",
                "Many short bars: elections, during which nothing is stored.",
                "Check the servers that alternate: network, disk, load.",
            ),
            queries=(Query(q.info(c.STREAM_INFO, "leader"), "{{stream}} on {{leader}}"),),
            mapping=ValueMapping((MappedValue(1, "leader", INFO),)),
            height=6,
        ),
        StateTimeline(
            title="Replicas online",
            guide=Guide(
                "Replicas that the leader reports as offline.",
                "A red bar: one more may cost the quorum.",
                "Bring that server back.",
            ),
            queries=(Query(q.now(c.STREAM_REPLICA_OFFLINE), _ON_SERVER),),
            mapping=ONLINE_MAPPING,
            no_value="one replica",
            height=6,
        ),
    )


def sources(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Source lag",
            guide=Guide(
                "Messages that the mirror or source is behind its origin, as of its last contact.",
                "It rises, or the contact beside it is old: then this number is old too.",
                "Check the link to the origin and the consumers of the origin.",
            ),
            queries=(Query(q.now(c.STREAM_SOURCE_LAG), _FROM_SOURCE),),
            no_value="no mirror, no sources",
            width=8,
        ),
        TimeSeries(
            title="Last contact with sources",
            guide=Guide(
                "Time since the last contact of the mirror or source with its origin.",
                "Above the line while the origin gets messages: nothing is copied.",
                "Check the link to the origin, and that its stream still exists.",
            ),
            queries=(Query(q.now(c.STREAM_SOURCE_ACTIVE_SECONDS), _FROM_SOURCE),),
            unit="s",
            steps=rising(bad=limits.of(t.SOURCE_SILENCE)),
            no_value="no mirror, no sources",
            width=8,
        ),
        StateTimeline(
            title="Source reports an error",
            guide=Guide(
                "Whether the mirror or source reports an error.",
                "Yes: nothing is copied.",
                "`nats stream info` shows the text of the error.",
            ),
            queries=(Query(q.now(c.STREAM_SOURCE_ERROR), _FROM_SOURCE),),
            mapping=YES_IS_BAD,
            no_value="no mirror, no sources",
            width=8,
        ),
    )


def configuration(q: Scope) -> tuple[Panel, ...]:
    labels = (
        "kind", "retention", "discard", "storage", "compression", "leader", "replicas", "mirror",
    )  # fmt: skip
    return (
        shared.configuration(
            q,
            c.STREAM_INFO,
            labels,
            (
                Column("Max bytes", q.now(c.STREAM_MAX_BYTES), "bytes"),
                Column("Max messages", q.now(c.STREAM_MAX_MESSAGES)),
                Column("Max age", q.now(c.STREAM_MAX_AGE_SECONDS), "s"),
                Column("Max consumers", q.now(c.STREAM_MAX_CONSUMERS)),
                Column("Max per subject", q.now(c.STREAM_MAX_MESSAGES_PER_SUBJECT)),
                Column("Duplicate window", q.now(c.STREAM_DUPLICATE_WINDOW_SECONDS), "s"),
            ),
            identity=c.STREAM,
            bad="No limit at all: the stream grows until its server is full.",
        ),
        shared.owner_limits(q, c.STREAM_THRESHOLD, "stream"),
    )


def findings(q: Scope) -> tuple[Panel, ...]:
    return (
        shared.audit_findings(
            q,
            c.STREAM_CONFIG_FINDINGS,
            "Checks that the stream or its consumers fail, and how many of them.",
        ),
    )
