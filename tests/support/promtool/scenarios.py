"""Longer scenarios: a whole day, assets that vanish, alerts that keep firing."""

from __future__ import annotations

from functools import cache

from support.exporter.models import NOW
from support.promtool.alert_row import Pattern, Values, after, between, ramp
from support.promtool.clusters import CLUSTERS
from support.promtool.outages import OUTAGES
from support.promtool.scenario import Check, Fires, Scenario
from support.signals.consumer_polls import POLL
from support.signals.visits import MINUTE, Visited

HOUR = 3600.0
_K = 'system="prod",account="APP",stream="ORDERS"'
_FRESH = {'streamgauge_snapshot_age_seconds{system="prod",instance="a"}': 5.0}


def _consumer(name: str, stalls: float = 26) -> dict[str, Values]:
    k = f'{{{_K},consumer="{name}",instance="a"}}'
    waits = after(f"{stalls:g}h", 0, 100)
    return {
        f"streamgauge_consumer_num_pending{k}": waits,
        f"streamgauge_consumer_num_waiting{k}": 0,
        **_condition("consumer", "no_worker_pulls", f'consumer="{name}",instance="a"', stalls),
    }


def _condition(subject: str, word: str, labels: str, hours: float) -> dict[str, Values]:
    name = f"streamgauge_{subject}_condition_start_timestamp_seconds"
    series = f'{name}{{{_K},{labels},condition="{word}"}}'
    return {series: after(f"{hours:g}h", None, hours * HOUR)}


def _of(name: str) -> dict[str, str]:
    return {"system": "prod", "account": "APP", "stream": "ORDERS", "consumer": name}


def _link(name: str) -> str:
    return (
        f"sg-consumer?orgId=1&var-system=prod&var-account=APP&var-stream=ORDERS&var-consumer={name}"
    )


def _stalled(time: str) -> Fires:
    return Fires(_of("busy"), f"{time};+100;--", _link("busy"))


def _no_worker_pulls(name: str) -> Fires:
    return Fires(_of(name), "20m 0s;+100;", _link(name))


_WORKERS_GONE = (
    "streamgauge_consumer_condition_start_timestamp_seconds"
    f'{{{_K},consumer="busy",instance="a",condition="workers_gone"}}'
)
NO_WORKER = Scenario(
    "a busy consumer without workers stalls, a nightly job does not",
    every="5m",
    series={
        **_FRESH,
        **_consumer("busy"),
        # The exporter forgets the day before at its restart: an open page stays.
        _WORKERS_GONE: between("26h", "35h", 26 * HOUR, None),
        **_consumer("nightly"),
        **_consumer("new"),
    },
    checks=(
        Check("26h10m", "ConsumerStalled"),
        Check("26h15m", "ConsumerStalled", (_stalled("15m 0s"),)),
        Check("30h", "ConsumerStalled", (_stalled("4h 0m 0s"),)),
        Check("40h", "ConsumerStalled", (_stalled("14h 0m 0s"),)),
        Check("26h15m", "ConsumerNoWorkerPulls"),
        Check(
            "26h20m",
            "ConsumerNoWorkerPulls",
            (_no_worker_pulls("new"), _no_worker_pulls("nightly")),
        ),
    ),
)


@cache
def _visited() -> Visited:
    """Every 20 minutes, the last time after 13 hours and 40 minutes."""
    visits = Visited()
    visits.work(13 * HOUR + 50 * MINUTE, 20 * MINUTE)
    visits.stay_away(HOUR)
    return visits


def _start(word: str) -> Pattern:
    """As the exporter judges it at the last poll before."""

    def value(at: float) -> float | None:
        found = _visited().found[: max(int(at / POLL), 0)]
        since = found[-1][1].get(word) if found else None
        return None if since is None else since - NOW

    return value


VISITED = Scenario(
    "a worker that comes every 20 minutes is missed when it stays away",
    every="1m",
    series={
        **_FRESH,
        f'streamgauge_consumer_num_pending{{{_K},consumer="visited",instance="a"}}': 100,
        f'streamgauge_consumer_num_waiting{{{_K},consumer="visited",instance="a"}}': 0,
        **{
            "streamgauge_consumer_condition_start_timestamp_seconds"
            f'{{{_K},consumer="visited",instance="a",condition="{word}"}}': _start(word)
            for word in ("no_worker_pulls", "workers_gone")
        },
    },
    checks=(
        # From the second visit on it is known.
        *(
            Check(f"{hour}h{minute}m", alert)
            for hour, minutes in ((1, (35, 40, 55)), (13, (12, 19, 36, 39)), (14, (0, 20, 40)))
            for minute in minutes
            for alert in ("ConsumerStalled", "ConsumerNoWorkerPulls")
        ),
        Check(
            "14h45m",
            "ConsumerStalled",
            (Fires(_of("visited"), "1h 4m 45s;+100;--", _link("visited")),),
        ),
    ),
)

_PAUSED_LONG = Fires(
    _of("forgotten"),
    "+1.45k;",
    _link("forgotten"),
)


def _pause(name: str, paused: Values, pending: Values) -> dict[str, Values]:
    k = f'{{{_K},consumer="{name}",instance="a"}}'
    return {
        f"streamgauge_consumer_paused{k}": paused,
        f"streamgauge_consumer_num_pending{k}": pending,
        **(
            _condition("consumer", "paused_backlog", f'consumer="{name}",instance="a"', 0)
            if pending
            else {}
        ),
    }


PAUSED = Scenario(
    "a pause of a day while messages wait",
    every="5m",
    series={
        **_FRESH,
        **_pause("forgotten", 1, ramp(10, 1)),
        **_pause("nothing waits", 1, 0),
        **_pause("shorter", after("10m", 0, 1), ramp(10, 1)),
        # Its earlier state is unknown.
        **_pause("first seen paused", after("10m", None, 1), ramp(10, 1)),
        **{
            spec.replace('system="prod"', 'system="stale"'): values
            for spec, values in _pause("forgotten", 1, ramp(10, 1)).items()
        },
        'streamgauge_snapshot_age_seconds{system="stale",instance="a"}': 45.0,
        **_pause("in between", between("8h", "9h", 0, 1), ramp(10, 1)),
    },
    checks=(
        Check("23h55m", "ConsumerPausedLong"),
        Check("24h", "ConsumerPausedLong", (_PAUSED_LONG,)),
    ),
)


def _target(instance: str, system: str, up: Values, reported: Values) -> dict[str, Values]:
    labels = f'job="nats",instance="{instance}"'
    return {
        f"up{{{labels}}}": up,
        f'streamgauge_build_info{{{labels},version="1"}}': reported,
        f'streamgauge_snapshot_age_seconds{{{labels},system="{system}"}}': reported,
    }


EXPORTER_DOWN = Scenario(
    "an exporter that is down, one that was taken away, and one of two replicas",
    every="1m",
    series={
        **_target("dead:7778", "lost", after("10m", 1, 0), between("0s", "10m", 1, None)),
        **_target(
            "away:7778", "removed", between("0s", "10m", 1, None), between("0s", "10m", 1, None)
        ),
        **_target(
            "first:7778", "prod", between("0s", "10m", 1, None), between("0s", "10m", 1, None)
        ),
        **_target("second:7778", "prod", 1, 1),
        'up{job="other",instance="x"}': 0,
    },
    checks=(
        Check("14m", "ExporterDown"),
        Check(
            "15m",
            "ExporterDown",
            (
                Fires(
                    {"job": "nats", "instance": "dead:7778"},
                    "+dead:7778;",
                    "sg-exporter?orgId=1",
                ),
            ),
        ),
        Check("11m", "SystemUnmonitored"),
        # Two minutes of look-back, then one of waiting.
        Check(
            "13m",
            "SystemUnmonitored",
            tuple(
                Fires(
                    {"job": "nats", "system": system},
                    "",
                    f"sg-exporter?orgId=1&var-system={system}",
                )
                for system in ("lost", "removed")
            ),
        ),
    ),
)

NO_EXPORTER = Scenario(
    "a Prometheus that was never given an exporter",
    every="1m",
    series={'up{job="other",instance="x"}': 1},
    checks=(
        Check("4m", "ExporterDown"),
        Check(
            "5m",
            "ExporterDown",
            (Fires({}, "-", "sg-exporter?orgId=1"),),
        ),
    ),
)


def _archive(values: str, **labels: str) -> tuple[Fires, ...]:
    return (Fires(labels, values, "sg-exporter?orgId=1"),)


ARCHIVE = Scenario(
    "an archive that gets nothing, does not compact, or is dead",
    every="1m",
    series={
        'streamgauge_archive_newest_sample_timestamp_seconds{sender="prometheus-1"}': between(
            "0s", "6m", 30, None
        ),
        'streamgauge_archive_newest_sample_timestamp_seconds{sender="prometheus-2"}': lambda at: (
            at - 600
        ),
        "streamgauge_archive_wal_oldest_timestamp_seconds": 60,
    },
    checks=(
        Check("10m", "ArchiveNotReceiving"),
        Check(
            "11m",
            "ArchiveNotReceiving",
            _archive(
                "10m 30s;",
                sender="prometheus-1",
            ),
        ),
        Check("3h1m", "ArchiveWalOld"),
        Check(
            "3h2m",
            "ArchiveWalOld",
            _archive(
                "3h 1m 0s;",
            ),
        ),
    ),
)

ROLLUP = Scenario(
    "a rollup that is overdue, and whose program is gone",
    every="10m",
    series={"streamgauge_rollup_last_success_timestamp_seconds": between("0s", "34h", 600, None)},
    checks=(
        Check("36h10m", "RollupOverdue"),
        Check(
            "36h20m",
            "RollupOverdue",
            _archive(
                "1d 12h 10m 0s;",
            ),
        ),
    ),
)

REPORT = Scenario(
    "a monthly report that is overdue",
    every="6h",
    series={"streamgauge_report_last_success_timestamp_seconds": between("0s", "34d", 3600, None)},
    checks=(
        Check("33d", "ReportOverdue"),
        Check("33d6h", "ReportOverdue", _archive("33d 5h 0m 0s;")),
    ),
)

NO_ARCHIVE = Scenario(
    "no archive, no alert about it",
    every="1m",
    series=dict(_FRESH),
    checks=tuple(
        Check("1h", name)
        for name in ("ArchiveNotReceiving", "ArchiveWalOld", "RollupOverdue", "ReportOverdue")
    ),
)

WATCHDOG = Scenario(
    "the watchdog always fires",
    every="1m",
    series={'up{job="other",instance="x"}': 1},
    checks=(
        Check(
            "0s",
            "Watchdog",
            (
                Fires(
                    {},
                    "",
                    "sg-exporter?orgId=1",
                ),
            ),
        ),
    ),
)

_LOST = Fires(
    _of("worker"),
    "1;",
    _link("worker"),
)

KEPT = Scenario(
    "an event keeps firing for a quarter of an hour after its window",
    every="1m",
    series={
        **_FRESH,
        f'streamgauge_consumer_lost_messages_total{{{_K},consumer="worker"}}': after(
            "20m", None, 1
        ),
        f'streamgauge_consumer_lost_messages_last_event_timestamp_seconds{{{_K},consumer="worker"}}': after(
            "20m", None, 1200
        ),
        f'streamgauge_consumer_up{{{_K},consumer="worker"}}': 1,
    },
    checks=(
        Check("19m", "ConsumerMessagesLost"),
        Check("20m", "ConsumerMessagesLost", (_LOST,)),
        Check("34m", "ConsumerMessagesLost", (_LOST,)),
        Check("49m", "ConsumerMessagesLost", (_LOST,)),
        Check("51m", "ConsumerMessagesLost"),
    ),
)

ALL_SILENT = Scenario(
    "all servers are down and no data is fresh",
    every="15s",
    series={
        'streamgauge_snapshot_age_seconds{system="prod",instance="a"}': ramp(60, 60),
        'streamgauge_server_up{system="prod",server="n1"}': 0,
        'streamgauge_server_condition_start_timestamp_seconds{system="prod",server="n1",'
        'condition="down"}': 0,
    },
    checks=(
        Check("2m", "ServerDown"),
        Check(
            "2m15s",
            "ServerDown",
            (
                Fires(
                    {"system": "prod", "server": "n1"},
                    "2m 15s;-",
                    "sg-fleet?orgId=1&var-system=prod",
                ),
            ),
        ),
    ),
)

_LEADERLESS = Fires(
    {"system": "prod"},
    "",
    "sg-fleet?orgId=1&var-system=prod",
)

_UNHEALTHY = Fires(
    {"system": "prod", "server": "n1"},
    "10m 45s;",
    "sg-fleet?orgId=1&var-system=prod",
)

LEADER_BACK = Scenario(
    "a missing leader fires until the next health request",
    every="15s",
    series={
        **_FRESH,
        'streamgauge_server_up{system="prod",server="n1"}': 1,
        'streamgauge_meta_leader{system="prod",server="n1"}': between("1m", "11m", 0, 1),
        # Health is requested once a minute: the last bad response outlives its cause.
        'streamgauge_server_healthy{system="prod",server="n1"}': between("1m", "12m", 0, 1),
        'streamgauge_server_condition_start_timestamp_seconds{system="prod",server="n1",'
        'condition="unhealthy"}': between("1m", "12m", 60, None),
    },
    checks=(
        Check("1m45s", "MetaLeaderMissing"),
        Check("2m", "MetaLeaderMissing", (_LEADERLESS,)),
        Check("12m", "MetaLeaderMissing", (_LEADERLESS,)),
        Check("11m45s", "ServerUnhealthy", (_UNHEALTHY,)),
        Check("12m", "ServerUnhealthy"),
        Check("13m15s", "MetaLeaderMissing"),
    ),
)

NEW_PROMETHEUS = Scenario(
    "a Prometheus that sees an old count for the first time has seen no event",
    every="1m",
    series={
        'streamgauge_snapshot_age_seconds{system="prod",instance="a"}': after("5m", None, 5),
        f'streamgauge_consumer_exhausted_total{{{_K},consumer="worker"}}': after("5m", None, 9),
    },
    checks=tuple(
        Check(f"{minute}m", "ConsumerMessagesAbandoned") for minute in (5, 10, 15, 16, 20)
    ),
)

_STORAGE = 'system="prod",server="n1",instance="a"'
SETTINGS = Scenario(
    "rules follow the thresholds of the exporter's settings",
    every="1m",
    series={
        **_FRESH,
        'streamgauge_condition_threshold{system="prod",threshold="server_storage_ratio",instance="a"}': after(
            "20m", 0.9, 0.5
        ),
        f"streamgauge_server_storage_used_bytes{{{_STORAGE}}}": 60,
        f"streamgauge_server_storage_max_bytes{{{_STORAGE}}}": 100,
    },
    checks=(
        Check("20m", "ServerStorageHigh"),
        Check("34m", "ServerStorageHigh"),
        Check(
            "35m",
            "ServerStorageHigh",
            (
                Fires(
                    {"system": "prod", "server": "n1", "limit": "storage"},
                    "60%;",
                    "sg-capacity?orgId=1&var-system=prod",
                ),
            ),
        ),
    ),
)

SCENARIOS = (
    *OUTAGES,
    SETTINGS,
    *CLUSTERS,
    NO_WORKER,
    VISITED,
    PAUSED,
    EXPORTER_DOWN,
    NO_EXPORTER,
    ARCHIVE,
    ROLLUP,
    REPORT,
    NO_ARCHIVE,
    WATCHDOG,
    KEPT,
    ALL_SILENT,
    LEADER_BACK,
    NEW_PROMETHEUS,
)
