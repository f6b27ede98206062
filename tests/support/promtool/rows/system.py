"""The alert table: space, servers, the meta group, accounts, the exporter itself."""

from __future__ import annotations

from support.promtool.alert_row import (
    ACCOUNT,
    SERVER,
    STREAM,
    SYSTEM,
    Pattern,
    Row,
    Values,
    after,
    began,
    between,
    ramp,
)

from alerts.quantity import parse_duration

ORDERS = "Stream ORDERS (account APP, system {system})"
APP = "Account APP (system {system})"
_DAY = 86_400.0


def _rising(per_minute: float) -> Pattern:
    """A counter that runs for a quarter of an hour after a quiet day."""
    return lambda at: max(0.0, at - _DAY) * per_minute / 60


def _leaders(every: str) -> dict[str, Values]:
    """Two servers lead in turn."""
    span = parse_duration(every)
    return {
        f'meta_leader{{server="n{n}"}}': (lambda at, n=n: float((at + 60) // span % 2 == n))
        for n in (0, 1)
    }


def _consumers(number: Values, stream: str = "ORDERS") -> dict[str, Values]:
    named = f'account="APP",stream="{stream}"'
    return {
        f"stream_consumers{{{named}}}": number,
        f"stream_ephemeral_consumers{{{named}}}": 0,
    }


def _all_streams(until: str | None) -> dict[str, Values]:
    def while_there(value: float) -> Values:
        return value if until is None else between("0s", until, value, None)

    return {
        **_consumers(while_there(15)),
        **_consumers(while_there(5), "SMALL"),
        'stream_up{account="APP",stream="ORDERS"}': while_there(1),
        'stream_up{account="APP",stream="SMALL"}': while_there(1),
    }


def _at_risk(*names: str) -> dict[str, Values]:
    return {
        f'stream_condition_start_timestamp_seconds{{account="APP",stream="{name}",'
        'condition="quorum_at_risk"}': start
        for start, name in enumerate(names)
    }


def _freed(used: str, bad: float) -> dict[str, dict[str, Values]]:
    return {"less for a moment": {used: between("2m", "2m30s", bad / 2, bad)}}


SPACE = (
    *(
        Row(
            alert,
            STREAM,
            bad=began("stream", word),
            calm=began("stream", word, "2m"),
            context={'stream_fill_ratio{limit="bytes"}': 0.981},
            onset=onset,
            aged=True,
            silent={
                "back pressure": {'stream_info{discard="new",back_pressure="true",leader="n1"}': 1},
                "another condition": {
                    **dict.fromkeys(began("stream", word)),
                    **began("stream", "back_pressure"),
                },
            },
            values=values,
            later=later,
        )
        for alert, word, onset, values, later in (
            ("StreamFull", "full", "5m15s", "5m 15s;+98.1%;", "5m 30s;+98.1%;"),
            ("StreamFillingUp", "filling", "30m15s", "+4h 0m 0s;+98.1%;", "+4h 0m 0s;+98.1%;"),
        )
    ),
    Row(
        "StreamForecastFull",
        STREAM,
        bad={'forecast_stream_full_timestamp_seconds{limit="bytes",quantile="0.5"}': 14 * _DAY},
        calm={'forecast_stream_full_timestamp_seconds{limit="bytes",quantile="0.5"}': 15 * _DAY},
        every="1m",
        onset="1m",
        labels={"limit": "bytes"},
        silent={
            "only at the worst": {
                'forecast_stream_full_timestamp_seconds{limit="bytes",quantile="0.5"}': None,
                'forecast_stream_full_timestamp_seconds{limit="bytes",quantile="0.9"}': 1 * _DAY,
            }
        },
        values="13d 22h 59m 0s;",
        later="13d 22h 58m 0s;",
    ),
    Row(
        "ServerForecastFull",
        SERVER,
        bad={'forecast_server_full_timestamp_seconds{limit="storage",quantile="0.5"}': 14 * _DAY},
        calm={'forecast_server_full_timestamp_seconds{limit="storage",quantile="0.5"}': 15 * _DAY},
        every="1m",
        onset="1m",
        labels={"limit": "storage"},
        values="13d 22h 59m 0s;",
        later="13d 22h 58m 0s;",
    ),
    *(
        Row(
            alert,
            of,
            case=limit,
            bad={f"{subject}_{limit}_used_bytes": bad},
            calm={f"{subject}_{limit}_used_bytes": calm},
            context={f"{subject}_{limit}_{most}_bytes": 1000},
            every=every,
            labels={"limit": limit},
            silent={"no limit": {f"{subject}_{limit}_{most}_bytes": None}, **silent},
            onset=onset,
            lingers=onset != "0s",
            values=values,
        )
        for alert, subject, of, most, bad, calm, every, onset, values in (
            (
                "ServerStorageHigh",
                "server",
                SERVER,
                "max",
                901,
                900,
                "1m",
                "0s",
                "90.1%;",
            ),
            (
                "AccountStorageFull",
                "account",
                ACCOUNT,
                "limit",
                950,
                949,
                "15s",
                "5m",
                "95%;",
            ),
            (
                "AccountStorageHigh",
                "account",
                ACCOUNT,
                "limit",
                800,
                799,
                "1m",
                "0s",
                "80%;",
            ),
        )
        for limit in ("storage", "memory")
        for silent in (_freed(f"{subject}_{limit}_used_bytes", bad) if onset != "0s" else {},)
    ),
)

SERVERS = (
    Row(
        "MetaLeaderMissing",
        SYSTEM,
        bad={'meta_leader{server="n1"}': 0, 'meta_leader{server="n2"}': 0},
        calm={'meta_leader{server="n1"}': 0, 'meta_leader{server="n2"}': 1},
        context={'server_up{server="n1"}': 1, 'server_up{server="n2"}': 1},
        values="",
    ),
    Row(
        "MetaLeaderMissing",
        SYSTEM,
        case="went with its server",
        bad={'server_up{server="n2"}': 0},
        calm={'server_up{server="n2"}': 1},
        context={
            'meta_leader{server="n1"}': 0,
            'meta_leader{server="n2"}': 1,
            'server_up{server="n1"}': 1,
        },
        values="",
    ),
    *(
        Row(
            "ServerDown",
            SERVER,
            case=case,
            bad=began("server", "down", "1m"),
            calm=began("server", "down", "2m"),
            context={"server_up": after("1m", 1, 0), **streams},
            onset="3m15s",
            lingers=True,
            silent={"another exporter reaches it": {"server_up": 1}},
            guarded=False,
            values=f"2m 15s;{named}",
            later=f"2m 30s;{named}",
        )
        for case, streams, named in (
            ("", {}, "-"),
            (
                "streams at risk",
                _at_risk("A", "B", "C", "D", "E", "F", "G"),
                "+A;!B;!C;!D;!E;+2;",
            ),
            ("few streams at risk", _at_risk("A", "B"), "+A;!B;"),
        )
    ),
    Row(
        "ServerApiRequestsHigh",
        SYSTEM,
        bad={'server_api_requests_total{server="n1"}': _rising(6600)},
        calm={'server_api_requests_total{server="n1"}': _rising(5400)},
        every="1m",
        onset="24h14m",
        lingers=True,
        silent={"as the day before": {'server_api_requests_total{server="n1"}': ramp(0, 6600)}},
        values="110;",
    ),
    Row(
        "MetaLeaderFlapping",
        SYSTEM,
        bad=_leaders("5m"),
        calm=_leaders("20m"),
        every="1m",
        onset="19m",
        lingers=True,
        values="4;",
    ),
    Row(
        "ConsumersFewer",
        SYSTEM,
        bad=_consumers(after("1h", 20, 9)),
        calm=_consumers(after("1h", 20, 10)),
        every="1m",
        onset="1h",
        lingers=True,
        silent={
            "few": _consumers(after("1h", 9, 1)),
            "without a leader": {
                **_consumers(between("0s", "57m", 15, None)),
                **_consumers(5, "SMALL"),
                'stream_up{account="APP",stream="ORDERS"}': after("57m", 1, 0),
                'stream_up{account="APP",stream="SMALL"}': 1,
            },
        },
        values="55%;",
    ),
    Row(
        "ConsumersFewer",
        SYSTEM,
        case="with their stream",
        bad={
            **_consumers(between("0s", "1h", 15, None)),
            **_consumers(5, "SMALL"),
            'stream_up{account="APP",stream="ORDERS"}': between("0s", "1h", 1, None),
        },
        calm={**_consumers(15), **_consumers(5, "SMALL")},
        every="1m",
        onset="1h2m",
        lingers=True,
        values="75%;",
    ),
    Row(
        "ConsumersFewer",
        SYSTEM,
        case="with all streams",
        bad=_all_streams(until="1h"),
        calm=_all_streams(until=None),
        context={'request_success{request="jsz"}': 1, 'request_success{request="healthz"}': 0},
        every="1m",
        onset="1h2m",
        lingers=True,
        silent={
            "not listed": {'request_success{request="jsz"}': after("59m", 1, 0)},
            "few": {
                **_consumers(between("0s", "1h", 5, None)),
                **_consumers(between("0s", "1h", 4, None), "SMALL"),
            },
            "without a leader": {
                'stream_up{account="APP",stream="ORDERS"}': after("57m", 1, 0),
                'stream_up{account="APP",stream="SMALL"}': after("57m", 1, 0),
            },
        },
        values="100%;",
    ),
    Row(
        "ConfigurationChanged",
        ACCOUNT,
        case="for the first time since the exporter started",
        bad={'advisories_total{kind="stream_deleted"}': after("16m", None, 1)},
        calm={'advisories_total{kind="stream_created"}': after("16m", None, 1)},
        every="1m",
        onset="16m",
        lingers=True,
        values="1;",
    ),
    Row(
        "ConfigurationChanged",
        ACCOUNT,
        bad={'advisories_total{kind="stream_updated"}': after("16m", 3, 5)},
        calm={'advisories_total{kind="stream_created"}': after("16m", 3, 5)},
        every="1m",
        onset="16m",
        lingers=True,
        values="2;",
    ),
    Row(
        "ServerUnhealthy",
        SERVER,
        bad=began("server", "unhealthy"),
        calm=began("server", "unhealthy", "2m"),
        context={"server_healthy": 0},
        onset="5m15s",
        lingers=True,
        silent={"well for another exporter": {"server_healthy": 1}},
        values="5m 15s;",
        later="5m 30s;",
    ),
    Row(
        "ServerClockOffset",
        SERVER,
        case="ahead",
        # The other server is right: that the two differ raises no second alert.
        bad={
            "server_clock_offset_seconds": 1.6,
            'server_clock_offset_seconds{server="n2"}': 0.0,
        },
        calm={
            "server_clock_offset_seconds": 1.5,
            'server_clock_offset_seconds{server="n2"}': 0.5,
        },
        context={
            "server_clock_uncertainty_seconds": 0.5,
            'server_clock_uncertainty_seconds{server="n2"}': 0.001,
        },
        values="+n1;1.1s;",
    ),
    Row(
        "ServerClockOffset",
        SERVER,
        case="behind",
        bad={"server_clock_offset_seconds": -1.6},
        calm={"server_clock_offset_seconds": -1.5},
        context={"server_clock_uncertainty_seconds": 0.5},
        values="+n1;1.1s;",
    ),
    Row(
        "ServerClockOffset",
        SYSTEM,
        case="apart",
        bad={
            'server_clock_offset_seconds{server="n1"}': 0.6,
            'server_clock_offset_seconds{server="n2"}': -0.6,
        },
        calm={
            'server_clock_offset_seconds{server="n1"}': 0.5,
            'server_clock_offset_seconds{server="n2"}': -0.5,
        },
        context={
            'server_clock_uncertainty_seconds{server="n1"}': 0.001,
            'server_clock_uncertainty_seconds{server="n2"}': 0.001,
        },
        values="-1.2s;",
    ),
    *(
        Row(
            "ServerApiErrors",
            of,
            case=subject,
            bad={f"{subject}_api_errors_total": ramp(0, 0.12)},
            calm={f"{subject}_api_errors_total": ramp(0, 0.08)},
            context={
                f"{subject}_api_requests_total": ramp(0, 10),
                # Where servers are seen, their accounts' requests are the same ones.
                'account_api_errors_total{account="B"}': ramp(0, 5 if subject == "server" else 0),
                'account_api_requests_total{account="B"}': ramp(0, 10),
            },
            every="1m",
            onset="10m",
            lingers=True,
            silent={"too few": {f"{subject}_api_requests_total": ramp(0, 6)}},
            values=values,
        )
        for subject, of, values in (
            ("server", SERVER, "+n1;1.2%;"),
            ("account", ACCOUNT, "-1.2%;"),
        )
    ),
    Row(
        "ClientsTooSlow",
        SERVER,
        case="server",
        bad={"server_slow_consumers_total": after("5m", 0, 2)},
        calm={"server_slow_consumers_total": 2},
        # The account's own count of the same event raises no second alert.
        context={'account_slow_consumers_total{account="APP"}': after("5m", 0, 2)},
        every="1m",
        onset="5m",
        lingers=True,
        values="2;",
    ),
    Row(
        "ClientsTooSlow",
        {**ACCOUNT, **SERVER},
        case="account",
        bad={"account_slow_consumers_total": after("5m", 0, 2)},
        calm={"account_slow_consumers_total": 2},
        every="1m",
        onset="5m",
        lingers=True,
        values="2;+APP;",
    ),
    Row(
        "MetaPeerOffline",
        SERVER,
        bad={"meta_replica_offline": 1},
        calm={"meta_replica_offline": 0},
        silent={"back for a moment": {"meta_replica_offline": between("2m", "2m30s", 0, 1)}},
        onset="5m",
        lingers=True,
        values="",
    ),
    Row(
        "MetaPendingHigh",
        SYSTEM,
        bad={"meta_pending": 501},
        calm={"meta_pending": 500},
        values="501;",
    ),
)

EXPORTER = (
    Row(
        "SystemUnreachable",
        SYSTEM,
        bad={"snapshot_age_seconds": 181},
        calm={"snapshot_age_seconds": 180},
        guarded=False,
        lingers=True,
        values="3m 1s;",
    ),
    Row(
        "ExporterPartial",
        SYSTEM,
        bad={'request_success{request="jsz"}': 0},
        calm={'request_success{request="jsz"}': 1},
        every="1m",
        labels={"request": "jsz"},
        values="",
    ),
    Row(
        "ExporterSeriesDropped",
        SYSTEM,
        bad={"series_dropped_total": after("1h10m", 0, 4)},
        calm={"series_dropped_total": 4},
        every="1m",
        onset="1h10m",
        lingers=True,
        values="4;",
    ),
)
