"""Board of the servers: connections, traffic, process, links between them, and accounts."""

from __future__ import annotations

from functools import partial

from dashboards.panels import event_annotations, variables
from dashboards.panels.colours import ANY, plain, rising
from dashboards.panels.limits import Limits
from dashboards.panels.model import (
    Board,
    Column,
    Guide,
    Panel,
    Query,
    Row,
    Table,
    Target,
    TimeSeries,
    Within,
)
from dashboards.panels.tiles import leading, tile
from dashboards.panels.variables import SERVER_PATH
from exporter import catalog as c
from exporter.metric import Metric
from streamgauge.promql.expression import Expression

VARIABLES = (variables.JOB, variables.CLUSTER, variables.SYSTEM, variables.SERVER)
_q = variables.scope_of(*VARIABLES)
_stat = partial(tile, width=8)
_ACCOUNT_PATH = "{{account}} on {{server}} ({{system}})"
_FEW = 10
_LEADS = {
    "Servers down": Within("Servers"),
    "Client connections": Within("Connections"),
    "All subscriptions": Within("Subscriptions"),
    "Messages received": Within("Messages in"),
    "Messages sent": Within("Messages out"),
}


def board(limits: Limits) -> Board:
    return Board(
        key="servers",
        title="Servers",
        description="Connections, traffic and load of each NATS server, JetStream or not.",
        variables=VARIABLES,
        rows=(
            Row("Now", (*leading(_stats(), _LEADS), _table())),
            Row("Clients", _clients()),
            Row("Traffic", _traffic()),
            Row("Process", _process()),
            Row("Links between servers", _links()),
            Row("Accounts", _accounts()),
        ),
        annotations=(event_annotations.server_restarts(_q), event_annotations.firing_alerts(_q)),
    )


def _stats() -> tuple[Panel, ...]:
    missing = _q.now(c.SERVER_UP).equals(0).count_by().or_zero(_q.now(c.SERVER_UP))
    slow = _q.increase(c.SERVER_SLOW_CONSUMERS, "1d").sum_by()
    return (
        _stat("Servers down", missing, "short",
              Guide("Servers that did not respond to the last poll.",
                    "Anything above 0.", "Check the process, then the network."),
              steps=rising(bad=ANY), background=True),
        _total("Client connections", _q.now(c.SERVER_CONNECTIONS), "short"),
        _total("All subscriptions", _q.now(c.SERVER_SUBSCRIPTIONS), "short"),
        _total("Messages received", _q.rate(c.SERVER_RECEIVED_MESSAGES), "mps"),
        _total("Messages sent", _q.rate(c.SERVER_SENT_MESSAGES), "mps"),
        _stat("Slow clients in 24 h", slow, "short",
              Guide("Clients that servers disconnected because they did not read fast enough.",
                    "Anything above 0: these clients missed messages.",
                    "See Slow clients per account below; give them larger buffers or more workers."),
              steps=rising(warn=ANY), decimals=0, links=(Within("Slow clients per account"),)),
    )  # fmt: skip


def _total(title: str, expr: Expression, unit: str) -> Panel:
    guide = Guide(
        "Sum over all servers shown. Messages between servers count on both sides.",
        "A sudden step: clients came, went or reconnect in a loop.",
        "Find the server in the graphs below.",
    )
    return _stat(title, expr.sum_by(), unit, guide, steps=plain())


def _table() -> Table:
    return Table(
        title="Servers",
        guide=Guide(
            "Each server with its version and its present load.",
            "A server that differs from the others: no connections, another version, high CPU.",
            "Open Clocks or Fleet for its JetStream part.",
        ),
        identity=("system", "server"),
        shown_labels=("version", "cluster"),
        columns=(
            Column("", _q.info(c.SERVER_INFO, "version", "cluster")),
            Column("Up for", _q.age(c.SERVER_START_TIMESTAMP_SECONDS), "s"),
            Column("Connections", _q.now(c.SERVER_CONNECTIONS)),
            Column("Subscriptions", _q.now(c.SERVER_SUBSCRIPTIONS)),
            Column("CPU", _q.now(c.SERVER_CPU_RATIO), "percentunit"),
            Column("Memory", _q.now(c.SERVER_PROCESS_MEMORY_BYTES), "bytes"),
            Column("Leaf nodes", _q.now(c.SERVER_LEAF_NODES)),
        ),
        sort_by="Connections",
        height=8,
        links=(Target.FLEET,),
    )


def _lines(title: str, expr: Expression, unit: str, *guide: str, width: int = 12) -> TimeSeries:
    """`guide`: the texts of its Guide."""
    queries = (Query(expr, SERVER_PATH),)
    return TimeSeries(title=title, guide=Guide(*guide), queries=queries, unit=unit, width=width)


_third = partial(_lines, width=8)


def _clients() -> tuple[Panel, ...]:
    return (
        _third("Connections", _q.now(c.SERVER_CONNECTIONS), "short",
               "Client connections of each server.",
               "A step down on one server and up on others: its clients moved away.",
               "Check whether the server restarted or became slow."),
        _third("Connections opened", _q.rate(c.SERVER_CONNECTIONS_OPENED), "cps",
               "Connections that each server accepts per second.",
               "A steady rate while the number of connections stays equal: clients reconnect in a loop.",
               "Check the server's log for the reason: authorization, slow consumers, TLS."),
        _third("Subscriptions", _q.now(c.SERVER_SUBSCRIPTIONS), "short",
               "Subscriptions of each server, those of JetStream included.",
               "It only rises: a client subscribes and never unsubscribes.",
               "Find the account in the row Accounts."),
    )  # fmt: skip


def _traffic() -> tuple[Panel, ...]:
    received = "From clients, routes, gateways and leaf nodes."
    sent = "To clients, routes, gateways and leaf nodes."
    panels = (
        ("Messages in", c.SERVER_RECEIVED_MESSAGES, "mps", received),
        ("Messages out", c.SERVER_SENT_MESSAGES, "mps", sent),
        ("Bytes in", c.SERVER_RECEIVED_BYTES, "Bps", received),
        ("Bytes out", c.SERVER_SENT_BYTES, "Bps", sent),
    )
    return tuple(
        _lines(title, _q.rate(metric), unit, means,
               "One server far above the others, or a line that falls to 0.",
               "See Accounts: who sends or receives that much.")
        for title, metric, unit, means in panels
    )  # fmt: skip


def _process() -> tuple[Panel, ...]:
    return (
        _lines("CPU of the process", _q.now(c.SERVER_CPU_RATIO), "percentunit",
               "Share of the machine's cores that the server uses.",
               "Near 100 %: deliveries and elections become late.",
               "Compare with traffic; move leaders or clients to other servers."),
        _lines("Memory of the process", _q.now(c.SERVER_PROCESS_MEMORY_BYTES), "bytes",
               "Resident memory of the server.",
               "It only rises, or comes near the limit of its machine or container.",
               "Check connections, subscriptions and the number of consumers."),
    )  # fmt: skip


def _links() -> tuple[Panel, ...]:
    return (
        _third("Routes", _q.now(c.SERVER_ROUTES), "short",
               "Route connections to the other servers of the cluster.",
               "Fewer than on the other servers: it does not reach all of them.",
               "Check the network and the cluster port."),
        _third("Gateways", _q.now(c.SERVER_GATEWAYS), "short",
               "Outbound gateway connections to other clusters. The monitor source has none.",
               "It falls: the clusters cannot exchange messages.",
               "Check the network between the clusters and the gateway port."),
        _third("Leaf nodes", _q.now(c.SERVER_LEAF_NODES), "short",
               "Leaf node connections of each server.",
               "It falls: a remote site has lost its connection.",
               "Check that site; the row Accounts names its account."),
    )  # fmt: skip


def _accounts() -> tuple[Panel, ...]:
    panels = (
        ("Connections per account", _q.highest(c.ACCOUNT_CONNECTIONS, _FEW), "short"),
        ("Subscriptions per account", _q.highest(c.ACCOUNT_SUBSCRIPTIONS, _FEW), "short"),
        ("Leaf nodes per account", _q.highest(c.ACCOUNT_LEAF_NODES, _FEW), "short"),
        ("Messages in per account", _busiest(c.ACCOUNT_RECEIVED_MESSAGES), "mps"),
        ("Messages out per account", _busiest(c.ACCOUNT_SENT_MESSAGES), "mps"),
        ("Bytes in per account", _busiest(c.ACCOUNT_RECEIVED_BYTES), "Bps"),
        ("Bytes out per account", _busiest(c.ACCOUNT_SENT_BYTES), "Bps"),
        ("Slow clients per account", _q.steady_rate(c.ACCOUNT_SLOW_CONSUMERS), "short"),
    )  # fmt: skip
    guide = Guide(
        f"By account and server; the {_FEW} largest of the shown time.",
        "An account that takes most of a server.",
        "Talk to its owner, or give it limits.",
    )
    return tuple(
        TimeSeries(
            title=title,
            guide=guide,
            queries=(Query(expr, _ACCOUNT_PATH),),
            unit=unit,
            no_value="set account_traffic in the exporter; not with the account source",
            width=12,
        )
        for title, expr, unit in panels
    )


def _busiest(counter: Metric) -> Expression:
    """Fetched about once a minute, so over five minutes."""
    return _q.steady_rate(counter).where(_q.grown(counter).top(_FEW))
