"""Servers on the fleet board: up, healthy, leaders, storage, slow clients."""

from __future__ import annotations

from alerts import thresholds as t
from dashboards.boards import fleet_tables
from dashboards.panels import fullness
from dashboards.panels.colours import (
    HEALTH_MAPPING,
    LEADER_MAPPING,
    ONLINE_MAPPING,
    UP_MAPPING,
    ValueMapping,
    plain,
    rising,
)
from dashboards.panels.limits import Limits
from dashboards.panels.model import BarGauge, Guide, Panel, Query, StateTimeline, Target, TimeSeries
from dashboards.panels.variables import SERVER_PATH
from dashboards.queries import RATE_WINDOW, Scope
from exporter import catalog as c
from streamgauge.promql.expression import Expression


def servers(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        fleet_tables.servers(q, limits),
        _state(
            "Servers up", q.now(c.SERVER_UP), UP_MAPPING,
            Guide("Whether each server responded to the poll. It stays for an hour after its last response.",
                  "A red bar: the server is down or cannot be reached from the exporter.",
                  "Check the process, then the network between them."),
        ),
        _state(
            "Servers healthy", q.now(c.SERVER_HEALTHY), HEALTH_MAPPING,
            Guide("The health check of each server.",
                  "A red bar: it reports an error, or has not caught up after a restart.",
                  "Run `nats server check jetstream`, or open its healthz page."),
        ),
        _state(
            "Meta leader", q.now(c.META_LEADER), LEADER_MAPPING,
            Guide("Which server leads the meta group. Only clustered systems have one.",
                  "No leader: nothing can be created and lists fail. Many changes: the group is "
                  "not stable.",
                  "Check the network and the disk of the servers that alternate."),
        ),
        _state(
            "Meta peers", q.now(c.META_REPLICA_OFFLINE), ONLINE_MAPPING,
            Guide("Peers that the meta leader reports as offline.",
                  "A red bar: one more may cost the quorum of the meta group.",
                  "Bring that server back, or remove it from the group if it is gone for good."),
        ),
        *_loads(q, limits),
        *_graphs(q, limits),
    )  # fmt: skip


def _state(title: str, expr: Expression, mapping: ValueMapping, guide: Guide) -> StateTimeline:
    return StateTimeline(
        title=title,
        guide=guide,
        queries=(Query(expr, SERVER_PATH),),
        mapping=mapping,
        no_value="not clustered" if "Meta" in title else "no data",
        width=6,
        height=6,
    )


def _loads(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    files, memory = fullness.of_server_files(q), fullness.of_server_memory(q)
    return (
        _full("File storage of servers", files, "max_file_store", limits),
        _full("Memory storage of servers", memory, "max_memory_store", limits),
        BarGauge(
            title="Stream leaders of servers",
            guide=Guide(
                "Number of streams that each server leads. Leaders do most of the work.",
                "One server that leads far more than the others.",
                "Let leaders step down (`nats server cluster balance`) when the load is too high.",
            ),
            queries=(Query(q.now(c.SERVER_STREAM_LEADERS), SERVER_PATH),),
            height=6,
            steps=plain(),
        ),
    )


def _full(title: str, expr: Expression, setting: str, limits: Limits) -> BarGauge:
    line = limits.value(t.SERVER_STORAGE_RATIO)
    return BarGauge(
        title=title,
        guide=Guide(
            f"Share of the {setting} of the server that JetStream uses.",
            f"Above {line:.0%}: at 100 % every publish to the streams of this server is rejected.",
            "Open Capacity and forecast: it shows which streams grow, and when it is full.",
        ),
        queries=(Query(expr, SERVER_PATH),),
        unit="percentunit",
        maximum=1,
        height=6,
        steps=fullness.server_steps(limits),
        links=(Target.CAPACITY,),
    )


def _graphs(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    errors = q.rate(c.SERVER_API_ERRORS).over(q.rate(c.SERVER_API_REQUESTS))
    return (
        TimeSeries(
            title="API errors of servers",
            guide=Guide(
                "Share of the JetStream API requests that failed.",
                "Above the line: clients use assets that do not exist, or the meta group is slow.",
                "Check the log of the server; find clients that use deleted consumers.",
            ),
            queries=(Query(errors, SERVER_PATH),),
            unit="percentunit",
            steps=rising(bad=limits.of(t.API_ERROR_RATIO)),
            no_value="no requests",
            soft_maximum=0.02,
            width=8,
        ),
        *_meta_group(q, limits),
        TimeSeries(
            title="Slow clients disconnected",
            guide=Guide(
                "Clients that servers disconnected because they did not read fast enough. The "
                "account source reports only its own account.",
                "Anything above 0: these clients missed messages and had to reconnect.",
                "Find the client in the log of the server; give it larger buffers or more workers.",
            ),
            queries=(
                Query(q.increase(c.SERVER_SLOW_CONSUMERS, RATE_WINDOW), SERVER_PATH),
                Query(
                    q.increase(c.ACCOUNT_SLOW_CONSUMERS, RATE_WINDOW),
                    "{{account}} on {{server}} ({{system}})",
                ),
            ),
            bars=True,
            no_value="none seen",
            width=8,
        ),
    )


def _meta_group(q: Scope, limits: Limits) -> tuple[Panel, ...]:
    return (
        TimeSeries(
            title="Meta operations pending",
            guide=Guide(
                "Operations that the meta leader has not applied yet.",
                "Above the line, or rising: creates and deletes take long or fail.",
                "Find a client that creates consumers in a loop; check the disk of the leader.",
            ),
            queries=(Query(q.now(c.META_PENDING), "{{system}}"),),
            steps=rising(bad=limits.of(t.META_PENDING)),
            no_value="not clustered",
            width=8,
        ),
        TimeSeries(
            title="Lag of meta peers",
            guide=Guide(
                "Operations that each peer of the meta group is behind its leader.",
                "It grows: the peer cannot follow, and cannot take over.",
                "Check the disk and the network of that server.",
            ),
            queries=(Query(q.now(c.META_REPLICA_LAG), SERVER_PATH),),
            no_value="not clustered",
            width=8,
        ),
        TimeSeries(
            title="Duration of meta snapshots",
            guide=Guide(
                "Duration of the last snapshot of the meta group.",
                "Seconds: creates and deletes wait for it.",
                "Delete unused streams and consumers; put the store on a faster disk.",
            ),
            queries=(Query(q.now(c.META_SNAPSHOT_SECONDS), "{{system}}"),),
            unit="s",
            no_value="not clustered",
            width=8,
        ),
    )
