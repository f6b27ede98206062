"""Scenarios of blindness: what stays open, what is not revived, what pages when the data is back."""

from __future__ import annotations

from dataclasses import replace

from support.promtool.alert_row import Pattern, Values, after, between
from support.promtool.scenario import Check, Fires, Scenario

_SYSTEM = 'system="prod"'
_MINUTE = 60.0


def _series(name: str, labels: str, values: Values) -> dict[str, Values]:
    return {f"streamgauge_{name}{{{labels}}}": values}


def _of_stream(stream: str) -> str:
    return f'{_SYSTEM},account="APP",stream="{stream}",instance="a"'


def _of_consumer(instance: str = "a") -> str:
    return f'{_SYSTEM},account="APP",stream="ORDERS",consumer="worker",instance="{instance}"'


def _during(*spans: tuple[float, float], value: float) -> Pattern:
    """The value within these spans of minutes, and no sample outside."""
    return lambda at: value if any(a * _MINUTE <= at < b * _MINUTE for a, b in spans) else None


def _age(start: float, end: float) -> Pattern:
    """Fresh but for an outage between these minutes."""
    return lambda at: 5.0 + (at - start * _MINUTE if start * _MINUTE <= at < end * _MINUTE else 0)


def _leaderless(stream: str, *spans: tuple[float, float]) -> dict[str, Values]:
    return {
        **_series(
            "stream_condition_start_timestamp_seconds",
            f'{_of_stream(stream)},condition="no_leader"',
            _during(*spans, value=spans[0][0] * _MINUTE),
        ),
        **_series("stream_up", _of_stream(stream), _during((0, 20), (60, 99), value=1)),
    }


def _stream(name: str, values: str) -> Fires:
    labels = {"system": "prod", "account": "APP", "stream": name}
    return Fires(
        labels, values, f"sg-stream?orgId=1&var-system=prod&var-account=APP&var-stream={name}"
    )


def _worker(values: str) -> Fires:
    labels = {"system": "prod", "account": "APP", "stream": "ORDERS", "consumer": "worker"}
    return Fires(
        labels,
        values,
        "sg-consumer?orgId=1&var-system=prod&var-account=APP&var-stream=ORDERS&var-consumer=worker",
    )


def _system(values: str) -> Fires:
    return Fires({"system": "prod"}, values, "sg-exporter?orgId=1&var-system=prod")


def _held(stream: str) -> Fires:
    return _stream(stream, f"!+{stream};+APP;")


TOTAL_OUTAGE = Scenario(
    "a page that is open stays open in an outage of forty minutes",
    every="1m",
    series={
        **_series("snapshot_age_seconds", f'{_SYSTEM},instance="a"', _age(20, 60)),
        **_series("first_snapshot_timestamp_seconds", f'{_SYSTEM},instance="a"', 0),
        **_leaderless("BROKEN", (10, 20), (60, 65)),
        **_leaderless("ENDED", (10, 15)),
        **_leaderless("HEALED", (10, 20)),
    },
    checks=(
        Check("14m", "StreamNoLeader", tuple(_stream(s, "4m 0s;") for s in ("BROKEN", "ENDED", "HEALED"))),
        Check("19m", "StreamNoLeader", (_stream("BROKEN", "9m 0s;"), _stream("HEALED", "9m 0s;"))),
        *(
            Check(f"{minute}m", "StreamNoLeader", (_held("BROKEN"), _held("HEALED")))
            for minute in (21, 23, 30, 45, 59)
        ),
        Check("22m", "SystemUnreachable"),
        Check("23m", "SystemUnreachable", (_system("3m 5s;"),)),
        Check("59m", "SystemUnreachable", (_system("39m 5s;"),)),
        Check("60m", "SystemUnreachable"),
        # What the first data shows as healthy ends; what it shows as broken goes on.
        Check("61m", "StreamNoLeader", (_stream("BROKEN", "51m 0s;"), _held("HEALED"))),
        Check("64m", "StreamNoLeader", (_stream("BROKEN", "54m 0s;"),)),
        Check("70m", "StreamNoLeader"),
    ),
)  # fmt: skip

LONE_RESTART = Scenario(
    "the restart of the only exporter resolves no open page",
    every="1m",
    series={
        **_series("snapshot_age_seconds", f'{_SYSTEM},instance="a"', _during((0, 20), (24, 99), value=5)),
        **_series(
            "first_snapshot_timestamp_seconds",
            f'{_SYSTEM},instance="a"',
            lambda at: None if 20 <= at / 60 < 24 else 0.0 if at < 1200 else 1440.0,
        ),
        **_series(
            "consumer_condition_start_timestamp_seconds",
            f'{_of_consumer()},condition="ack_pending_full"',
            # It needs some minutes to know again, and then has seen it for less than before.
            lambda at: 0.0 if at < 1200 else 1740.0 if 1740 <= at < 2400 else None,
        ),
        **_series("consumer_num_ack_pending", _of_consumer(), _during((0, 20), (24, 99), value=9)),
    },
    checks=(
        Check("10m", "ConsumerAckPendingFull"),
        *(
            Check(f"{minute}m", "ConsumerAckPendingFull", (_worker(values),))
            for minute, values in (
                (11, "+9;11m 0s;"), (19, "+9;19m 0s;"), (20, "+9;19m 0s;"), (22, "!+ORDERS;+worker;+APP;"),
                (25, "!+ORDERS;+worker;+APP;"), (28, "!+ORDERS;+worker;+APP;"), (30, "+9;1m 0s;"),
                (39, "+9;10m 0s;"),
            )
        ),
        Check("44m", "ConsumerAckPendingFull"),
        Check("22m", "SystemUnmonitored"),
        Check("23m", "SystemUnmonitored", (_system(""),)),
        Check("24m", "SystemUnmonitored"),
    ),
)  # fmt: skip

NAMED_LATE = Scenario(
    "an exporter restarted in an outage of one server names its system a minute later",
    every="1m",
    series={
        **_series("snapshot_age_seconds", f'{_SYSTEM},instance="a"', _during((0, 20), (22, 99), value=5)),
        # Until it has decided the name, only what it says of its polls has a name, the default.
        **{
            series: values
            for name in ("up", "servers_responding", "servers_expected")
            for series, values in _series(name, 'system="nats",instance="a"', _during((20, 22), value=0)).items()
        },
        **_series("request_success", 'system="nats",instance="a",request="varz"', _during((20, 22), value=0)),
    },
    checks=tuple(
        Check(f"{minute}m", alert)
        for minute in (19, 21, 22, 23, 24, 30, 60)
        for alert in ("SystemUnmonitored", "SystemUnreachable", "ExporterStale")
    ),
)  # fmt: skip

PAIR = Scenario(
    "the restart of one of two exporters makes no condition young",
    every="1m",
    series={
        **{
            key: value
            for instance in ("a", "b")
            for key, value in {
                **_series("snapshot_age_seconds", f'{_SYSTEM},instance="{instance}"', 5),
                **_series(
                    "consumer_condition_start_timestamp_seconds",
                    f'{_of_consumer(instance)},condition="ack_pending_full"',
                    0 if instance == "b" else lambda at: 0.0 if at < 900 else 960.0 if at >= 960 else None,
                ),
                **_series("consumer_num_ack_pending", _of_consumer(instance), 9),
            }.items()
        },
        # The other one is alive and gets no answer.
        'streamgauge_snapshot_age_seconds{system="prod",instance="blind"}': 46,
    },
    checks=(
        *(
            Check(f"{minute}m", "ConsumerAckPendingFull", (_worker(f"+9;{minute}m 0s;"),))
            for minute in (14, 15, 16, 20)
        ),
        Check("20m", "SystemUnreachable"),
        Check("4m", "ExporterStale"),
        Check("5m", "ExporterStale", (Fires({"system": "prod", "instance": "blind"}, "46s;", "sg-exporter?orgId=1&var-system=prod"),)),
    ),
)  # fmt: skip

LOSS_INSIDE = Scenario(
    "a loss in an outage of twenty minutes pages when the data is back",
    every="1m",
    series={
        **_series("snapshot_age_seconds", f'{_SYSTEM},instance="a"', _age(10, 30)),
        **_series("consumer_up", _of_consumer(), _during((0, 10), (30, 99), value=1)),
        **_series("consumer_lost_messages_total", _of_consumer(), after("30m", None, 300)),
        **_series(
            "consumer_lost_messages_last_event_timestamp_seconds",
            _of_consumer(),
            after("30m", None, 1800),
        ),
    },
    checks=(
        Check("29m", "ConsumerMessagesLost"),
        Check("30m", "ConsumerMessagesLost", (_worker("300;"),)),
    ),
)

ABANDONED = Scenario(
    "abandoned messages hold their ticket until they are gone",
    every="1m",
    series={
        **_series("snapshot_age_seconds", f'{_SYSTEM},instance="a"', 5),
        **_series("consumer_exhausted_total", _of_consumer(), after("20m", None, 2)),
        **_series("consumer_exhausted_last_event_timestamp_seconds", _of_consumer(), after("20m", None, 1200)),
        **_series("consumer_exhausted_messages", _of_consumer(), between("20m", "70m", 2, 0)),
        **_series(
            "consumer_condition_start_timestamp_seconds",
            f'{_of_consumer()},condition="messages_abandoned"',
            _during((20, 70), value=1200),
        ),
    },
    checks=(
        Check("19m", "ConsumerMessagesAbandoned"),
        *(
            Check(f"{minute}m", "ConsumerMessagesAbandoned", (_worker("+2;"),))
            for minute in (20, 36, 52, 60, 69)
        ),
        Check("88m", "ConsumerMessagesAbandoned"),
    ),
)  # fmt: skip

_INFO = f'streamgauge_consumer_info{{{_of_consumer()},owner_name="ann",owner_team="payments",owner_severity="warning"}}'

CAPPED = Scenario(
    "the owner's severity and team last through an outage",
    every="1m",
    series={
        **_series("snapshot_age_seconds", f'{_SYSTEM},instance="a"', _age(20, 60)),
        **_series(
            "consumer_condition_start_timestamp_seconds",
            f'{_of_consumer()},condition="ack_pending_full"',
            _during((0, 20), value=0),
        ),
        **_series("consumer_num_ack_pending", _of_consumer(), _during((0, 20), value=9)),
        _INFO: _during((0, 20), value=1),
    },
    checks=tuple(
        Check(
            f"{minute}m",
            "ConsumerAckPendingFull",
            (
                replace(
                    _worker(values),
                    labels={**_worker("").labels, "severity": "warning", "team": "payments"},
                    owner=owner,
                ),
            ),
        )
        for minute, values, owner in (
            (11, "+9;11m 0s;", "ann"), (22, "!+ORDERS;+worker;+APP;", "ann"),
            (50, "!+ORDERS;+worker;+APP;", "not known"),
        )
    ),
)  # fmt: skip

_PAGE = "consumer?system=prod&account=APP&stream=ORDERS&consumer=worker"


def _exporter(instance: str, start: float, end: float) -> dict[str, Values]:
    """From this minute to that one."""
    there = _during((start, end), value=1)
    scope = f'{_SYSTEM},instance="{instance}"'
    return {
        **_series("snapshot_age_seconds", scope, there),
        **_series("web_info", f'scheme="http",instance="{instance}"', there),
        **_series(
            "consumer_condition_start_timestamp_seconds",
            f'{_of_consumer(instance)},condition="ack_pending_full"',
            _during((start, end), value=0),
        ),
        **_series(
            "consumer_num_ack_pending", _of_consumer(instance), _during((start, end), value=9)
        ),
    }


LINKS = Scenario(
    "links lead to the exporter that is up",
    every="1m",
    series={**_exporter("first:7778", 0, 20), **_exporter("second:7778", 20, 40)},
    checks=tuple(
        Check(
            f"{minute}m",
            "ConsumerAckPendingFull",
            (replace(_worker(values), link=_PAGE, exporter=f"http://{exporter}:7778"),),
        )
        for minute, values, exporter in (
            (15, "+9;15m 0s;", "first"), (25, "+9;25m 0s;", "second"), (39, "+9;39m 0s;", "second"),
        )
    ),
)  # fmt: skip

OUTAGES = (CAPPED, LINKS, TOTAL_OUTAGE, LONE_RESTART, NAMED_LATE, PAIR, LOSS_INSIDE, ABANDONED)
