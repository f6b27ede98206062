"""The servers on the fleet board: who answers, who leads, who is full, who cuts clients."""

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
            "Servers that answer", q.now(c.SERVER_UP), UP_MAPPING,
            Guide("Whether each server answered the poll. One that was seen stays for an hour.",
                  "A red bar: the server is down or cannot be reached from the exporter.",
                  "Look at the process, then at the network between them."),
        ),
        _state(
            "Servers that are healthy", q.now(c.SERVER_HEALTHY), HEALTH_MAPPING,
            Guide("What each server says of itself.",
                  "A red bar: it names a fault, or has not caught up after a restart.",
                  "Ask it: `nats server check jetstream`, or its page healthz."),
        ),
        _state(
            "Meta leader", q.now(c.META_LEADER), LEADER_MAPPING,
            Guide("Which server leads the meta group. Only clustered systems have one.",
                  "No leader: nothing can be created and lists fail. Many changes: the group is "
                  "not stable.",
                  "Look at the network and at the disk of the servers that take turns."),
        ),
        _state(
            "Meta peers", q.now(c.META_REPLICA_OFFLINE), ONLINE_MAPPING,
            Guide("Which peers the meta leader holds for offline.",
                  "A red bar: one more and nothing can be created any more.",
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
                "How many streams each server leads. Leading costs most of the work.",
                "One server that leads far more than the others.",
                "Let leaders step down (`nats server cluster balance`) when the load hurts.",
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
            f"What JetStream uses of the server's {setting}.",
            f"Above {line:.0%}: at 100 % every publish to this server's streams is refused.",
            "Open Capacity and forecast: it tells which streams grow, and when it is full.",
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
                "Share of the JetStream API requests that a server answered with an error.",
                "Above the line: clients ask for what is not there, or the meta group is slow.",
                "Look at the server's log; look for clients that bind to deleted consumers.",
            ),
            queries=(Query(errors, SERVER_PATH),),
            unit="percentunit",
            steps=rising(bad=limits.of(t.API_ERROR_RATIO)),
            no_value="no requests",
            soft_maximum=0.02,
            width=8,
        ),
        TimeSeries(
            title="Meta operations pending",
            guide=Guide(
                "Operations that the meta leader has not applied yet.",
                "Above the line, or rising: creates and deletes take long or fail.",
                "Look for a client that creates consumers in a loop, and at the leader's disk.",
            ),
            queries=(Query(q.now(c.META_PENDING), "{{system}}"),),
            steps=rising(bad=limits.of(t.META_PENDING)),
            no_value="not clustered",
            width=8,
        ),
        TimeSeries(
            title="Slow clients cut",
            guide=Guide(
                "Client connections that servers cut because they did not read fast enough. The "
                "account source tells it for its own account only.",
                "Anything above 0: these clients missed messages and had to come back.",
                "Find the client in the server's log; give it larger buffers or more workers.",
            ),
            queries=(
                Query(q.increase(c.SERVER_SLOW_CONSUMERS, RATE_WINDOW), SERVER_PATH),
                Query(
                    q.increase(c.ACCOUNT_SLOW_CONSUMERS, RATE_WINDOW),
                    "{{system}}/{{account}} on {{server}}",
                ),
            ),
            bars=True,
            width=8,
        ),
    )
