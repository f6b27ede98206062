"""Scenarios of two clusters under one Prometheus, with equal names and with names of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from support.promtool.alert_row import Values, after
from support.promtool.scenario import Check, Fires, Scenario

_NAMES = 'account="APP",stream="ORDERS",consumer="worker"'


def _of(cluster: str, system: str) -> str:
    team = ',team="payments"' if cluster == "prod" else ""
    pod = f'instance="{cluster}:7778",pod="{cluster}-0"'
    return f'cluster="{cluster}",namespace="nats",job="streamgauge",{pod}{team},system="{system}"'


def _cluster(cluster: str, system: str, *, dead: bool) -> dict[str, Values]:
    """A consumer whose workers died in the one, and the same names, well or paused, in the other."""
    scope = _of(cluster, system)
    consumer = f"{scope},{_NAMES}"
    found: dict[str, Values] = {
        f"streamgauge_snapshot_age_seconds{{{scope}}}": 5,
        f"streamgauge_consumer_up{{{consumer}}}": 1,
        f"streamgauge_consumer_num_pending{{{consumer}}}": 4200 if dead else 7,
    }
    if not dead:
        return found | {f"streamgauge_consumer_paused{{{consumer}}}": 1}
    start = "streamgauge_consumer_condition_start_timestamp_seconds"
    lost = "streamgauge_consumer_lost_messages"
    return found | {
        f'{start}{{{consumer},condition="no_worker_pulls"}}': 0,
        f"{lost}_total{{{consumer}}}": after("10m", None, 12),
        f"{lost}_last_event_timestamp_seconds{{{consumer}}}": after("10m", None, 600),
    }


def _fires(system: str, values: str) -> Fires:
    labels = {
        "cluster": "prod", "namespace": "nats", "job": "streamgauge", "team": "payments",
        "system": system, "account": "APP", "stream": "ORDERS", "consumer": "worker",
    }  # fmt: skip
    link = f"var-system={system}&var-account=APP&var-stream=ORDERS&var-consumer=worker"
    return Fires(labels, values, f"sg-consumer?orgId=1&{link}")


def _scenario(name: str, prod: str, staging: str) -> Scenario:
    return Scenario(
        name,
        every="1m",
        series={**_cluster("prod", prod, dead=True), **_cluster("staging", staging, dead=False)},
        checks=(
            Check("15m", "ConsumerNoWorkerPulls"),
            Check("16m", "ConsumerNoWorkerPulls", (_fires(prod, "16m 0s;+4.2k;"),)),
            Check("10m", "ConsumerMessagesLost", (_fires(prod, "12;"),)),
        ),
    )


def _blind(name: str, prod: str, staging: str) -> Scenario:
    """One is unreachable, the other one answers."""
    ages = {"prod": lambda at: 5.0 + at, "staging": 5}
    return Scenario(
        name,
        every="1m",
        series={
            f"streamgauge_snapshot_age_seconds{{{_of(cluster, system)}}}": ages[cluster]
            for cluster, system in (("prod", prod), ("staging", staging))
        },
        checks=(
            Check("2m", "SystemUnreachable"),
            Check(
                "3m",
                "SystemUnreachable",
                (
                    Fires(
                        {
                            "cluster": "prod", "namespace": "nats", "job": "streamgauge",
                            "team": "payments", "system": prod,
                        },
                        "3m 5s;",
                        f"sg-exporter?orgId=1&var-system={prod}",
                    ),
                ),
            ),
        ),
    )  # fmt: skip


def _named(**labels: str) -> str:
    """The info series of the consumer in prod, whose scrape has a team of its own."""
    own = "".join(f',{name}="{value}"' for name, value in labels.items())
    return f"streamgauge_consumer_info{{{_of('prod', 'nats')},{_NAMES}{own}}}"


_OWNED = replace(
    _fires("nats", "16m 0s;+4.2k;"),
    labels={**_fires("nats", "").labels, "team": "billing"},
    owner="ann",
)


def _exporter(instance: str, servers: Mapping[str, float]) -> dict[str, Values]:
    """One exporter of the system, with its servers and their start times."""
    scope = f'job="streamgauge",instance="{instance}",system="nats"'
    found: dict[str, Values] = {f"streamgauge_snapshot_age_seconds{{{scope}}}": 5}
    for server, start in servers.items():
        found[f'streamgauge_server_up{{{scope},server="{server}"}}'] = 1
        found[f'streamgauge_server_start_timestamp_seconds{{{scope},server="{server}"}}'] = start
    return found


def _identity(name: str, *exporters: Mapping[str, float], fires: bool) -> Scenario:
    series: dict[str, Values] = {}
    for place, servers in enumerate(exporters):
        series |= _exporter(f"e{place}:7778", servers)
    labels = {"job": "streamgauge", "system": "nats"}
    found = Fires(labels, f"{len(exporters)};", "sg-exporter?orgId=1&var-system=nats")
    return Scenario(
        name,
        every="1m",
        series=series,
        checks=(
            Check("9m", "SystemIdentityShared"),
            Check("10m", "SystemIdentityShared", (found,) if fires else ()),
        ),
    )


CLUSTERS = (
    _identity(
        "two exporters of the same servers",
        {"n1": 10, "n2": 20, "n3": 30},
        {"n1": 10.5, "n2": 20, "n3": 30},
        fires=False,
    ),
    _identity(
        "one exporter does not see a server",
        {"n1": 10, "n2": 20, "n3": 30},
        {"n1": 10, "n2": 20},
        fires=False,
    ),
    _identity("one exporter", {"n1": 10}, fires=False),
    _identity("two systems under one name", {"n1": 10, "n2": 20}, {"m1": 10, "m2": 20}, fires=True),
    _identity(
        "two systems under one name, with servers of equal names",
        {"n1": 10, "n2": 20},
        {"n1": 7200, "n2": 7300},
        fires=True,
    ),
    Scenario(
        "the owner's team counts before that of the scrape",
        every="1m",
        series={
            **_cluster("prod", "nats", dead=True),
            _named(owner_name="ann", owner_team="billing", leader="n1"): 1,
        },
        checks=(Check("16m", "ConsumerNoWorkerPulls", (_OWNED,)),),
    ),
    Scenario(
        "an owner mutes an alert although the scrape has a team",
        every="1m",
        series={
            **_cluster("prod", "nats", dead=True),
            _named(owner_team="billing", owner_ignore="ConsumerNoWorkerPulls"): 1,
        },
        checks=(
            Check("16m", "ConsumerNoWorkerPulls"),
            Check(
                "10m",
                "ConsumerMessagesLost",
                (replace(_fires("nats", "12;"), labels={**_OWNED.labels}),),
            ),
        ),
    ),
    _scenario("two clusters with equal names", "nats", "nats"),
    _scenario("two clusters with names of their own", "east", "west"),
    _blind("one of two clusters with equal names is unreachable", "nats", "nats"),
    _blind("one of two clusters with names of their own is unreachable", "east", "west"),
)
