"""Connections and traffic: STATSZ, VARZ and account statistics -> the model."""

from __future__ import annotations

from exporter.model import AccountOnServer, ServerNetwork, Traffic
from exporter.sources.decoding.wire_servers import (
    WireAccountStat,
    WireStats,
    WireStatsz,
    WireTraffic,
    WireVarz,
)


def server_network(stats: WireStats | None) -> ServerNetwork | None:
    if isinstance(stats, WireStatsz):
        traffic = _traffic(stats.received, stats.sent)
        routes, gateways = len(stats.routes or ()), len(stats.gateways or ())
        return _network(stats, traffic, routes, gateways)
    if isinstance(stats, WireVarz):
        traffic = Traffic(stats.in_msgs, stats.in_bytes, stats.out_msgs, stats.out_bytes)
        return _network(stats, traffic, stats.routes, None)
    return None


def _network(
    stats: WireStats, traffic: Traffic, routes: int, gateways: int | None
) -> ServerNetwork:
    return ServerNetwork(
        connections=stats.connections,
        connections_opened=stats.total_connections,
        subscriptions=stats.subscriptions,
        traffic=traffic,
        routes=routes,
        gateways=gateways,
    )


def leaf_nodes(stats: WireStats | None, accounts: list[WireAccountStat] | None) -> int | None:
    """STATSZ does not count them: then the sum of the accounts."""
    if isinstance(stats, WireVarz):
        return stats.leafnodes
    return None if accounts is None else sum(each.leafnodes for each in accounts)


def account_on_server(server: str, stat: WireAccountStat) -> AccountOnServer:
    return AccountOnServer(
        server=server,
        connections=stat.conns,
        leaf_nodes=stat.leafnodes,
        traffic=_traffic(stat.received, stat.sent),
        slow_consumers=stat.slow_consumers,
        subscriptions=stat.num_subscriptions,
    )


def _traffic(received: WireTraffic, sent: WireTraffic) -> Traffic:
    return Traffic(received.msgs, received.bytes, sent.msgs, sent.bytes)
