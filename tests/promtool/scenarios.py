"""Stories that a row cannot tell: a whole day, things that vanish, alerts that hold on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from promtool.alert_row import Pattern, Values, after, between, ramp

HOUR = 3600.0
_K = 'system="prod",account="APP",stream="ORDERS"'
_WATCHED = {'streamgauge_snapshot_age_seconds{system="prod",instance="a"}': 5.0}


@dataclass(frozen=True)
class Fires:
    labels: Mapping[str, str]
    says: str
    link: str  # the end of the dashboard's address


@dataclass(frozen=True)
class Look:
    moment: str
    alert: str  # without the prefix
    fires: tuple[Fires, ...] = ()


@dataclass(frozen=True)
class Scenario:
    name: str
    every: str
    series: Mapping[str, Values]
    looks: tuple[Look, ...]

    @property
    def alerts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(look.alert for look in self.looks))


def since(moment_hours: float) -> Pattern:
    """Seconds since then; 0 before."""
    return lambda at: max(0.0, at - moment_hours * HOUR)


def until(hours: float, per_minute: float, start: float = 0.0) -> Pattern:
    """A counter that stands still in the end."""
    return lambda at: per_minute * (min(max(at, start * HOUR), hours * HOUR) / 60 - start * 60)


def nightly(at: float) -> float:
    """Works through two hours a night."""
    days, hour = divmod(at / HOUR, 24)
    return 6000 * (days + min(max(hour - 2, 0), 2) / 2)


def _consumer(name: str, deliveries: Values, stalls: float = 26) -> dict[str, Values]:
    k = f'{{{_K},consumer="{name}",instance="a"}}'
    waits = after(f"{stalls:g}h", 0, 100)
    return {
        f"streamgauge_consumer_deliveries_total{k}": deliveries,
        f"streamgauge_consumer_num_pending{k}": waits,
        f"streamgauge_consumer_num_waiting{k}": 0,
        f"streamgauge_consumer_stalled_seconds{k}": since(stalls),
        f"streamgauge_consumer_verdict{k}": after(f"{stalls:g}h", 0, 4),
    }


def _of(name: str) -> dict[str, str]:
    return {"system": "prod", "account": "APP", "stream": "ORDERS", "consumer": name}


def _link(name: str) -> str:
    return (
        f"sg-consumer?orgId=1&var-system=prod&var-account=APP&var-stream=ORDERS&var-consumer={name}"
    )


def _stalled(time: str) -> Fires:
    says = (
        "Consumer busy of stream ORDERS (account APP, system prod) has had no delivery for "
        f"{time} while 100 messages wait. Nobody asks for them any more, although it was busy all "
        "day before."
    )
    return Fires(_of("busy"), says, _link("busy"))


def _no_worker_pulls(name: str) -> Fires:
    says = (
        f"Consumer {name} of stream ORDERS (account APP, system prod) has 100 messages waiting and "
        "not one pull request. It was not busy before, so it may be a job that runs now and then, "
        "or one that was forgotten."
    )
    return Fires(_of(name), says, _link(name))


DESERTED = Scenario(
    "a busy consumer is missed for as long as it stands still, a nightly job is not",
    every="5m",
    series={
        **_WATCHED,
        **_consumer("busy", until(26, 60)),
        **_consumer("nightly", nightly),
        # Six hours old: too short a life to tell busy from seldom.
        **_consumer("new", until(26, 60, start=20)),
    },
    looks=(
        Look("26h10m", "ConsumerStalled"),
        Look("26h15m", "ConsumerStalled", (_stalled("15m 0s"),)),
        Look("30h", "ConsumerStalled", (_stalled("4h 0m 0s"),)),
        # The day before the stall counts, not the day of it.
        Look("40h", "ConsumerStalled", (_stalled("14h 0m 0s"),)),
        Look("26h10m", "ConsumerNoWorkerPulls"),
        Look(
            "26h15m",
            "ConsumerNoWorkerPulls",
            (_no_worker_pulls("new"), _no_worker_pulls("nightly")),
        ),
    ),
)

_PAUSED_LONG = Fires(
    _of("forgotten"),
    "Consumer forgotten of stream ORDERS (account APP, system prod) has been paused for more than "
    "1d, and 1.45k messages wait by now. Retention goes on during a pause.",
    _link("forgotten"),
)


def _pause(name: str, paused: Values, pending: Values) -> dict[str, Values]:
    k = f'{{{_K},consumer="{name}",instance="a"}}'
    return {
        f"streamgauge_consumer_paused{k}": paused,
        f"streamgauge_consumer_num_pending{k}": pending,
    }


PAUSED = Scenario(
    "a pause of a day is told when the backlog grows",
    every="5m",
    series={
        **_WATCHED,
        **_pause("forgotten", 1, ramp(10, 1)),
        **_pause("steady", 1, 500),
        **_pause("shorter", after("10m", 0, 1), ramp(10, 1)),
        # Nobody knows what it was before.
        **_pause("first seen paused", after("10m", None, 1), ramp(10, 1)),
        **{
            spec.replace('system="prod"', 'system="stale"'): values
            for spec, values in _pause("forgotten", 1, ramp(10, 1)).items()
        },
        'streamgauge_snapshot_age_seconds{system="stale",instance="a"}': 45.0,
        **_pause("in between", between("8h", "9h", 0, 1), ramp(10, 1)),
    },
    looks=(
        Look("23h55m", "ConsumerPausedLong"),
        Look("24h", "ConsumerPausedLong", (_PAUSED_LONG,)),
    ),
)

_WITHOUT = " Without another replica no alert can fire for what it watched."


def _target(instance: str, system: str, up: Values, told: Values) -> dict[str, Values]:
    labels = f'job="nats",instance="{instance}"'
    return {
        f"up{{{labels}}}": up,
        f'streamgauge_build_info{{{labels},version="1"}}': told,
        f'streamgauge_snapshot_age_seconds{{{labels},system="{system}"}}': told,
    }


EXPORTER_DOWN = Scenario(
    "an exporter that is down, one that was taken away, and one of two replicas",
    every="1m",
    series={
        **_target("dead:7778", "lost", after("10m", 1, 0), between("0s", "10m", 1, None)),
        **_target(
            "away:7778", "untold", between("0s", "10m", 1, None), between("0s", "10m", 1, None)
        ),
        **_target(
            "first:7778", "prod", between("0s", "10m", 1, None), between("0s", "10m", 1, None)
        ),
        **_target("second:7778", "prod", 1, 1),
        'up{job="other",instance="x"}': 0,
    },
    looks=(
        Look("14m", "ExporterDown"),
        Look(
            "15m",
            "ExporterDown",
            (
                Fires(
                    {"job": "nats", "instance": "dead:7778"},
                    "The exporter at dead:7778 does not answer Prometheus." + _WITHOUT,
                    "sg-exporter?orgId=1",
                ),
            ),
        ),
        # Two minutes of lookback, then five of waiting.
        Look(
            "18m",
            "ExporterDown",
            (
                Fires(
                    {"job": "nats", "instance": "dead:7778"},
                    "The exporter at dead:7778 does not answer Prometheus." + _WITHOUT,
                    "sg-exporter?orgId=1",
                ),
                Fires(
                    {"system": "untold"},
                    "No exporter tells about system untold any more." + _WITHOUT,
                    "sg-exporter?orgId=1&var-system=untold",
                ),
            ),
        ),
    ),
)

NO_EXPORTER = Scenario(
    "a Prometheus that was never given an exporter",
    every="1m",
    series={'up{job="other",instance="x"}': 1},
    looks=(
        Look("4m", "ExporterDown"),
        Look(
            "5m",
            "ExporterDown",
            (Fires({}, "Prometheus has no exporter to scrape." + _WITHOUT, "sg-exporter?orgId=1"),),
        ),
    ),
)


def _archive(name: str, says: str, **labels: str) -> tuple[Fires, ...]:
    return (Fires(labels, says, f"{name}?orgId=1"),)


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
    looks=(
        Look("10m", "ArchiveNotReceiving"),
        Look(
            "11m",
            "ArchiveNotReceiving",
            _archive(
                "sg-exporter",
                "The newest sample of sender prometheus-1 in the archive is 10m 30s old. Prometheus "
                "keeps unsent samples for about two hours; then they are missing for ever.",
                sender="prometheus-1",
            ),
        ),
        Look("3h1m", "ArchiveWalOld"),
        Look(
            "3h2m",
            "ArchiveWalOld",
            _archive(
                "sg-exporter",
                "The oldest sample in the archive's write-ahead log is 3h 1m 0s old: compaction does "
                "not run, and the log grows until the disk is full.",
            ),
        ),
    ),
)

ROLLUP = Scenario(
    "a rollup that is overdue, and whose program is gone",
    every="10m",
    series={"streamgauge_rollup_last_success_timestamp_seconds": between("0s", "34h", 600, None)},
    looks=(
        Look("36h10m", "RollupOverdue"),
        Look(
            "36h20m",
            "RollupOverdue",
            _archive(
                "sg-exporter",
                "The last rollup that succeeded was 1d 12h 10m 0s ago: forecasts and the report are "
                "out of date.",
            ),
        ),
    ),
)

NO_ARCHIVE = Scenario(
    "whoever has no archive hears nothing of it",
    every="1m",
    series=dict(_WATCHED),
    looks=tuple(
        Look("1h", name) for name in ("ArchiveNotReceiving", "ArchiveWalOld", "RollupOverdue")
    ),
)

WATCHDOG = Scenario(
    "the watchdog always barks",
    every="1m",
    series={'up{job="other",instance="x"}': 1},
    looks=(
        Look(
            "0s",
            "Watchdog",
            (
                Fires(
                    {},
                    "Alerts from Prometheus reach Alertmanager. Let something outside notice when "
                    "this one stops.",
                    "sg-exporter?orgId=1",
                ),
            ),
        ),
    ),
)

_LOST = Fires(
    _of("worker"),
    "Consumer worker of stream ORDERS (account APP, system prod) has missed about 1 messages in "
    "the last 15 minutes: limits or retention removed them first. They are gone from the stream.",
    _link("worker"),
)

KEPT = Scenario(
    "an event is told for a quarter of an hour beyond its window",
    every="1m",
    series={
        **_WATCHED,
        f'streamgauge_consumer_lost_messages_total{{{_K},consumer="worker"}}': after("20m", 0, 1),
        f'streamgauge_consumer_up{{{_K},consumer="worker"}}': 1,
    },
    looks=(
        Look("19m", "ConsumerMessagesLost"),
        Look("20m", "ConsumerMessagesLost", (_LOST,)),
        Look("34m", "ConsumerMessagesLost", (_LOST,)),
        Look("49m", "ConsumerMessagesLost", (_LOST,)),
        Look("51m", "ConsumerMessagesLost"),
    ),
)

ALL_SILENT = Scenario(
    "servers that are all down are told of although no data is fresh",
    every="15s",
    series={
        'streamgauge_snapshot_age_seconds{system="prod",instance="a"}': ramp(60, 60),
        'streamgauge_server_up{system="prod",server="n1"}': 0,
    },
    looks=(
        Look("1m45s", "ServerDown"),
        Look(
            "2m",
            "ServerDown",
            (
                Fires(
                    {"system": "prod", "server": "n1"},
                    "Server n1 (system prod) has not answered for 2 minutes. It was seen within the "
                    "last hour.",
                    "sg-fleet?orgId=1&var-system=prod",
                ),
            ),
        ),
    ),
)

_LEADERLESS = Fires(
    {"system": "prod"},
    "System prod has no meta leader: nothing can be created, changed or deleted, and no stream that "
    "loses its leader's server is moved. Running streams go on.",
    "sg-fleet?orgId=1&var-system=prod",
)

LEADER_BACK = Scenario(
    "a missing leader is told until the health of the servers has been asked again",
    every="15s",
    series={
        **_WATCHED,
        'streamgauge_server_up{system="prod",server="n1"}': 1,
        'streamgauge_meta_leader{system="prod",server="n1"}': between("1m", "11m", 0, 1),
        # Health is asked once a minute: the last bad answer outlives the reason for it.
        'streamgauge_server_healthy{system="prod",server="n1"}': between("1m", "12m", 0, 1),
    },
    looks=(
        Look("1m45s", "MetaLeaderMissing"),
        Look("2m", "MetaLeaderMissing", (_LEADERLESS,)),
        Look("12m", "MetaLeaderMissing", (_LEADERLESS,)),
        Look("12m", "ServerUnhealthy"),
        Look("13m15s", "MetaLeaderMissing"),
    ),
)

NEW_PROMETHEUS = Scenario(
    "a Prometheus that sees an old count for the first time has seen no event",
    every="1m",
    series={
        'streamgauge_snapshot_age_seconds{system="prod",instance="a"}': after("5m", None, 5),
        f'streamgauge_consumer_exhausted_total{{{_K},consumer="worker"}}': after("5m", None, 9),
    },
    looks=tuple(Look(f"{minute}m", "ConsumerMessagesAbandoned") for minute in (5, 10, 15, 16, 20)),
)

SCENARIOS = (
    DESERTED,
    PAUSED,
    EXPORTER_DOWN,
    NO_EXPORTER,
    ARCHIVE,
    ROLLUP,
    NO_ARCHIVE,
    WATCHDOG,
    KEPT,
    ALL_SILENT,
    LEADER_BACK,
    NEW_PROMETHEUS,
)
