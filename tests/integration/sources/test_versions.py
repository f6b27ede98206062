"""A known workload on every version: each source reports the exact numbers."""

import time
from collections.abc import Mapping

from support.exporter.exposed_series import SOURCES, Exposed, Series, polled, polling, series
from support.nats.servers import NatsCluster, NatsServer
from support.signals.known_workload import METADATA_SINCE, PAUSES_SINCE, known_workload, version_of
from support.waiting import until

from exporter import catalog
from exporter.metric import PREFIX, Origin
from exporter.settings.config import SourceName

Truth = dict[Series, float | None]
# Not reported before, and here less by one for each stream without a limit.
RESERVED_WRONG = (2, 10)

# One row per consumer of ORDERS (100 messages, every fourth of them orders.eu). None: no series.
# fmt: off
STATE_FIELDS = (
    "num_pending", "num_ack_pending", "num_redelivered", "num_waiting", "backlog_messages",
    "deliveries_total", "delivered_stream_seq", "ack_floor_stream_seq", "ack_floor_consumer_seq",
    "ack_floor_gap", "ack_floor_gap_deliveries", "exhausted_messages",
)
STATE: Mapping[str, tuple[float | None, ...]] = {
    "worker":    (60, 10, 0, 0, 70, 40, 40, 30, 30, 10, 10, 0),
    "holes":     (80, 2, 0, 0, 82, 20, 20, 4, 4, 16, 16, None),
    "eu":        (15, 4, 0, 0, 19, 10, 40, 27, 6, 13, 4, None),
    "audit":     (75, 0, 0, 0, 75, 25, 25, 25, 25, 0, 0, None),
    "retried":   (90, 8, 4, 0, 98, 14, 10, 2, 2, 8, 12, None),
    "poison":    (96, 0, 1, 0, 96, 5, 4, 4, 5, 0, 0, 1),
    "untouched": (100, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, None),
    "patient":   (100, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0),
    "paused":    (100, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, None),
    "glance":    (100, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, None),
    "push":      (80, 20, 0, 0, 100, 20, 20, 0, 0, 20, 20, None),
    "unbound":   (100, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, None),
}
SETTING_FIELDS = (
    "max_ack_pending", "ack_wait_seconds", "max_deliver", "max_waiting", "backoff_steps",
    "retry_horizon_seconds", "push_bound", "ack_floor_gap_ratio",
)
SETTINGS: Mapping[str, tuple[float | None, ...]] = {
    "worker":    (500, 45, 5, 512, None, 180, None, 0.02),
    "holes":     (1000, 30, None, 512, None, None, None, 0.016),
    "eu":        (1000, 30, None, 512, None, None, None, 0.004),
    "audit":     (None, None, None, 512, None, None, None, None),
    "retried":   (1000, 30, None, 512, None, None, None, 0.012),
    "poison":    (1000, 30, 2, 512, None, 30, None, 0),
    "untouched": (1000, 30, None, 512, None, None, None, 0),
    "patient":   (1000, 2, 5, 512, 3, 26, None, 0),
    "paused":    (1000, 30, None, 512, None, None, None, 0),
    "glance":    (1000, 30, None, 512, None, None, None, 0),
    "push":      (20, 30, None, None, None, None, 1, 1),
    "unbound":   (1000, 30, None, None, None, None, 0, 0),
}
STREAM_FIELDS = (
    "messages", "bytes", "first_seq", "stored_messages_total", "subjects", "consumers",
    "ephemeral_consumers", "deleted_messages", "lost_messages", "max_bytes", "max_messages",
    "max_age_seconds", "max_messages_per_subject", "duplicate_window_seconds",
)
STREAMS: Mapping[tuple[str, str], tuple[float | None, ...]] = {
    ("APP", "ORDERS"):   (100, 4900, 1, 100, 2, 13, 1, 0, 0, 10485760, 1000, 3600, 500, 60),
    ("APP", "INVOICES"): (14, 546, 6, 20, 1, 0, 0, 1, 0, None, None, None, None, 120),
    ("APP", "COPY"):     (100, 4900, 1, 100, 2, 0, 0, 0, 0, None, None, None, None, None),
    ("OTHER", "NOTES"):  (1, 36, 1, 1, 1, 0, 0, 0, 0, None, None, None, None, 120),
}
# fmt: on


def of_consumer(name: str, metric: str, **labels: str) -> Series:
    return series(f"consumer_{metric}", account="APP", stream="ORDERS", consumer=name, **labels)


def consumer_truth(version: tuple[int, ...]) -> Truth:
    truth: Truth = {}
    for table, fields in ((STATE, STATE_FIELDS), (SETTINGS, SETTING_FIELDS)):
        for name, values in table.items():
            truth |= {
                of_consumer(name, field): value for field, value in zip(fields, values, strict=True)
            }
            truth[of_consumer(name, "up")] = 1
            truth[of_consumer(name, "paused")] = None
    # Its position differs between versions: it never had a message.
    truth[of_consumer("waiting", "up")] = 1
    truth[of_consumer("waiting", "num_waiting")] = 2
    truth[of_consumer("waiting", "num_pending")] = 0
    truth[of_consumer("waiting", "deliveries_total")] = 0
    truth[of_consumer("paused", "paused")] = 1 if version >= PAUSES_SINCE else None
    limit = of_consumer("worker", "threshold", limit="outstanding-ack-critical")
    truth[limit] = 400 if version >= METADATA_SINCE else None
    return truth


def stream_truth(source: SourceName, replicas: int) -> Truth:
    truth: Truth = {}
    for (account, name), values in STREAMS.items():
        labels = {"account": account, "stream": name}
        truth |= {
            series(f"stream_{field}", **labels): value
            for field, value in zip(STREAM_FIELDS, values, strict=True)
        }
        truth[series("stream_up", **labels)] = 1
        truth[series("stream_replicas", **labels)] = replicas if name == "ORDERS" else 1
    if source == "account":  # it sees no account but its own
        truth = {key: None if ("account", "OTHER") in key[1] else v for key, v in truth.items()}
    orders = {"account": "APP", "stream": "ORDERS"}
    truth[series("stream_max_consumers", **orders)] = 50
    truth[series("stream_fill_ratio", **orders, limit="bytes")] = 4900 / 10485760
    truth[series("stream_fill_ratio", **orders, limit="messages")] = 0.1
    truth[series("stream_fill_ratio", **orders, limit="consumers")] = 0.26
    for metric, value in (("lag", 0), ("error", 0)):
        key = series(f"stream_source_{metric}", account="APP", stream="COPY", source="ORDERS")
        truth[key] = value
    return truth


def server_truth(source: SourceName, names: tuple[str, ...], ha_assets: int) -> Truth:
    truth: Truth = {series("up"): 1}
    truth[series("servers_expected")] = truth[series("servers_responding")] = len(names)
    requested = source != "account"  # an ordinary user only sees that the servers are up
    for name in names:
        truth[series("server_up", server=name)] = 1
        truth |= {
            series(f"server_{metric}", server=name): value if requested else None
            for metric, value in (
                ("healthy", 1),
                ("storage_max_bytes", 1073741824),
                ("storage_reserved_bytes", 10485760),
                ("memory_max_bytes", 268435456),
                ("memory_used_bytes", 0),
                ("memory_reserved_bytes", 0),
                ("ha_assets", ha_assets),
                ("slow_consumers_total", 0),
            )
        }
    return truth


def account_truth(source: SourceName, version: tuple[int, ...], stored: int) -> Truth:
    both = source != "account"
    truth: Truth = {
        series("account_streams", account="APP", tier=""): 3,
        series("account_storage_used_bytes", account="APP", tier=""): stored,
        series("account_memory_used_bytes", account="APP", tier=""): 0,
        series("account_streams", account="OTHER", tier=""): 1 if both else None,
        series("account_consumers", account="OTHER", tier=""): 0 if both else None,
        series("account_storage_used_bytes", account="OTHER", tier=""): 36 if both else None,
    }
    if version[:2] != RESERVED_WRONG:
        reserved = series("account_storage_reserved_bytes", account="APP", tier="")
        truth[reserved] = 10485760 if version > RESERVED_WRONG and not both else None
    return truth


def truth_of(
    source: SourceName, version: tuple[int, ...], names: tuple[str, ...], ha_assets: int
) -> Truth:
    replicas = len(names)
    return (
        consumer_truth(version)
        | stream_truth(source, replicas)
        | server_truth(source, names, ha_assets)
        # Every copy of ORDERS counts, one of COPY and one of INVOICES.
        | account_truth(source, version, stored=4900 * replicas + 4900 + 546)
    )


def differences(exposed: Exposed, truth: Truth) -> dict[str, tuple[float | None, float | None]]:
    """What is exposed and what is true, where that is not the same."""
    seen = exposed.among(truth)
    return {
        f"{name} {sorted(labels)}": (seen[name, labels], value)
        for (name, labels), value in truth.items()
        if seen[name, labels] != value
    }


def total(exposed: Exposed, name: str) -> float:
    return sum(exposed.named(name).values())


# Each of these is read at another moment by each source.
VOLATILE = (
    "_active_seconds",
    "_timestamp_seconds",
    "_api_requests_total",
    "pause_remaining_seconds",
)


def assets(exposed: Exposed) -> dict[Series, float]:
    """The streams and consumers of the account as every source reports them."""
    return {
        key: value
        for key, value in exposed.samples.items()
        if catalog.BY_NAME[PREFIX + key[0]].origin is Origin.RESPONSE
        and key[0].startswith(("stream_", "consumer_"))
        and ("account", "APP") in key[1]
        and ("limit", "age") not in key[1]
        and not key[0].endswith(VOLATILE)
        # Since 2.15 servers have a default that they do not report to an ordinary user.
        and key[0] != "stream_max_consumers"
        and ("limit", "consumers") not in key[1]
    }


async def exposed_by_all(place: NatsServer | NatsCluster) -> dict[SourceName, Exposed]:
    found = {}
    for source in SOURCES:
        async with polling(place, source) as poller:
            found[source] = await polled(poller)
    return found


async def test_every_number_of_a_stand_alone_server_is_the_truth(nats_server: NatsServer) -> None:
    async with known_workload(nats_server):
        found = await exposed_by_all(nats_server)
    for source, exposed in found.items():
        truth = truth_of(source, version_of(nats_server), ("n1",), ha_assets=0)
        assert differences(exposed, truth) == {}, source
        assert exposed.named("meta_size") == exposed.named("meta_leader") == {}
        assert exposed.named("stream_replica_lag") == {}
        # Not in a cluster, which rejects requests that come too early.
        assert set(exposed.named("account_api_errors_total").values()) == {0}
    for exposed in (found["system"], found["monitor"]):
        assert exposed.value("server_api_errors_total", server="n1") == 0
        assert total(exposed, "server_stream_leaders") == 4
        assert total(exposed, "server_consumer_leaders") == 13
        assert exposed.value("account_consumers", account="APP", tier="") == 13
    check_agreement(found)


async def test_every_number_of_a_cluster_is_the_truth(nats_cluster: NatsCluster) -> None:
    async with known_workload(nats_cluster):
        # Followers apply the last acks a little later, and each source polls at its own time.
        found = await until(
            lambda: exposed_by_all(nats_cluster),
            lambda found: all(total(each, "consumer_replica_lag") == 0 for each in found.values()),
            "followers never caught up",
        )
    for source, exposed in found.items():
        # The meta group, ORDERS and its twelve durable consumers, each on all three servers.
        truth = truth_of(source, version_of(nats_cluster), ("n1", "n2", "n3"), ha_assets=14)
        assert differences(exposed, truth) == {}, source
        assert exposed.value("account_consumers", account="APP", tier="") == 13
        check_replicas(exposed)
    for exposed in (found["system"], found["monitor"]):
        check_leaders(exposed)
    check_agreement(found)


def check_replicas(exposed: Exposed) -> None:
    peers = exposed.named("stream_replica_lag")
    assert len(peers) == 2
    assert exposed.named("stream_replica_offline") == dict.fromkeys(peers, 0)
    assert sorted(peers.values()) == [0, 0]
    assert len(exposed.named("consumer_replica_lag")) == 2 * 12
    assert total(exposed, "consumer_replica_offline") == 0


def check_leaders(exposed: Exposed) -> None:
    assert sorted(exposed.named("meta_leader").values()) == [0, 0, 1]
    assert exposed.value("meta_size") == 3
    assert sorted(exposed.named("meta_replica_offline").values()) == [0, 0]
    assert total(exposed, "server_stream_leaders") == 4
    assert total(exposed, "server_consumer_leaders") == 13
    # Three copies of ORDERS, one of each other stream.
    assert total(exposed, "server_storage_used_bytes") == 3 * 4900 + 4900 + 546 + 36


def check_agreement(found: Mapping[SourceName, Exposed]) -> None:
    account, system, monitor = (assets(found[source]) for source in SOURCES)
    assert len(system) > 250
    assert system == monitor
    assert account == system


async def test_timestamps_are_those_of_the_workload(nats_server: NatsServer) -> None:
    before = time.time()
    async with known_workload(nats_server):
        after = time.time()
        found = await exposed_by_all(nats_server)
    for source, exposed in found.items():
        unsure = exposed.value("server_clock_uncertainty_seconds", server="n1")
        assert unsure is not None
        unsure += 0.001  # servers' times are cut to microseconds on their way
        moments = [
            exposed.value(f"stream_{which}_timestamp_seconds", account="APP", stream="ORDERS")
            for which in ("first", "last")
        ]
        moments += [
            exposed.samples[of_consumer("worker", f"last_{which}_timestamp_seconds")]
            for which in ("delivery", "ack")
        ]
        ordered = [before - unsure, *moments, after + unsure]
        assert ordered == sorted(ordered, key=lambda timestamp: timestamp or 0.0), source
