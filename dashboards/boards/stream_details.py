"""The lower rows of the stream board: replicas, mirror and sources, configuration, findings."""

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
    """What also stands in the graphs as annotations, counted."""
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
                "What the exporter saw happen: elections, recreations, restores, lost quorum, "
                "durable consumers that are gone, and sequences that went back.",
                "Sequence went back: messages that were acknowledged to publishers are gone.",
                "Ask who did it; after data loss compare with publishers' own records.",
            ),
            queries=tuple(
                Query(q.increase(metric, RATE_WINDOW), f"{word} {{{{stream}}}}")
                for word, metric in happened
            ),
            bars=True,
            overrides=(Override("/^(sequence|quorum)/", BAD),),
        ),
        TimeSeries(
            title="Consumers ahead of the stream",
            guide=Guide(
                "How far a consumer's position lies beyond the stream's end. No line while all "
                "is well.",
                "Any line: the stream went back, by data loss, rollback or restore.",
                "Stop publishers, look at the servers' disks, compare the replicas.",
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
                "Raft entries that each replica is behind, in the leader's view.",
                "Above the line and not falling: this copy would be missing after a failure.",
                "Look at the disk and the network of that server.",
            ),
            queries=(Query(q.now(c.STREAM_REPLICA_LAG), _ON_SERVER),),
            steps=rising(bad=limits.of(t.REPLICA_LAG)),
            no_value="one copy",
            width=8,
        ),
        TimeSeries(
            title="Replica last heard",
            guide=Guide(
                "Time since the leader last heard from each replica.",
                "More than a few seconds.",
                "Look at the network between the two servers.",
            ),
            queries=(Query(q.now(c.STREAM_REPLICA_ACTIVE_SECONDS), _ON_SERVER),),
            unit="s",
            no_value="one copy",
            width=8,
        ),
        TimeSeries(
            title="Replicas that differ",
            guide=Guide(
                "Difference between a follower's own count and the leader's although the leader "
                "sees no lag. No line while the copies are the same.",
                "Any line that stays: after an election other messages would be there.",
                "Let the replica be rebuilt: remove it from the stream and add it again.",
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
                "Look at the servers that take turns: network, disk, load.",
            ),
            queries=(Query(q.info(c.STREAM_INFO, "leader"), "{{stream}} on {{leader}}"),),
            mapping=ValueMapping((MappedValue(1, "leads", INFO),)),
            height=6,
        ),
        StateTimeline(
            title="Replicas as the leader sees them",
            guide=Guide(
                "Which replicas the leader holds for offline.",
                "A red bar: one more and the stream may stop.",
                "Bring that server back.",
            ),
            queries=(Query(q.now(c.STREAM_REPLICA_OFFLINE), _ON_SERVER),),
            mapping=ONLINE_MAPPING,
            no_value="one copy",
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
                "Look at the link to the origin and at the origin's consumers.",
            ),
            queries=(Query(q.now(c.STREAM_SOURCE_LAG), _FROM_SOURCE),),
            no_value="no mirror, no sources",
            width=8,
        ),
        TimeSeries(
            title="Source last heard",
            guide=Guide(
                "Time since the mirror or source was last heard from.",
                "Above the line while the origin moves: the copy stands still.",
                "Look at the link to the origin; see whether its stream still exists.",
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
    told = (
        "kind", "retention", "discard", "storage", "compression", "leader", "replicas", "mirror",
    )  # fmt: skip
    return (
        shared.configuration(
            q,
            c.STREAM_INFO,
            told,
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
            "Checks that the stream or its consumers fail, and how many of them.",
            Column("Assets", q.now(c.STREAM_CONFIG_FINDINGS)),
            identity=c.STREAM,
        ),
    )
