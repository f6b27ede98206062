"""The alert table: space, servers, the meta group, accounts, the exporter itself."""

from __future__ import annotations

from support.promtool.alert_row import ACCOUNT, SERVER, STREAM, SYSTEM, Row, after, ramp

ORDERS = "Stream ORDERS (account APP, system {system})"
APP = "Account APP (system {system})"
N1 = "Server n1 (system {system})"
SUSPECT = "If every server of the system is named, suspect the clock of the exporter's own machine."
CUT_OFF = (
    "Server n1 (system {{system}}) cut off about 2 client connections in the last 10 minutes "
    "because they did not read fast enough{}. What was on its way to them is lost to them; push "
    "consumers deliver it again after ack_wait."
)
LEADERLESS = (
    "System {system} has no meta leader: nothing can be created, changed or deleted, and no stream "
    "that loses its leader's server is moved. Running streams go on."
)
_REFUSES = 'stream_info{discard="new",leader="n1"}'
_DROPS_OLD = 'stream_info{discard="old",leader="n1"}'
_DAY = 86_400.0

SPACE = (
    *(
        Row(
            "StreamFull",
            STREAM,
            case=limit,
            bad={f'stream_fill_ratio{{limit="{limit}"}}': 0.98},
            calm={f'stream_fill_ratio{{limit="{limit}"}}': 0.979},
            context={_REFUSES: 1},
            labels={"limit": limit},
            silent={"drops old ones": {_REFUSES: None, _DROPS_OLD: 1}},
            says=f"{ORDERS} has used 98% of its limit of {limit} and is set to refuse new messages when "
            "full: publishes fail, or are about to.",
        )
        for limit in ("bytes", "messages")
    ),
    Row(
        "StreamFillingUp",
        STREAM,
        # A twentieth of a percent a minute: 12 % in four hours.
        bad={'stream_fill_ratio{limit="bytes"}': ramp(0.851, 0.0007)},
        calm={'stream_fill_ratio{limit="bytes"}': ramp(0.851, 0.0004)},
        context={_REFUSES: 1},
        every="1m",
        onset="1m",
        lingers=True,
        labels={"limit": "bytes"},
        silent={
            "drops old ones": {_REFUSES: None, _DROPS_OLD: 1},
            "half empty": {'stream_fill_ratio{limit="bytes"}': ramp(0.5, 0.005)},
        },
        says=f"{ORDERS} has used 87.27% of its limit of bytes. At the pace of the last 6 hours it is full "
        "in less than 4h, and then refuses new messages.",
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
        says=f"{ORDERS} is expected to reach its limit of bytes in 13d 22h 59m 0s.",
        later=f"{ORDERS} is expected to reach its limit of bytes in 13d 22h 58m 0s.",
    ),
    Row(
        "ServerForecastFull",
        SERVER,
        bad={'forecast_server_full_timestamp_seconds{limit="storage",quantile="0.5"}': 14 * _DAY},
        calm={'forecast_server_full_timestamp_seconds{limit="storage",quantile="0.5"}': 15 * _DAY},
        every="1m",
        onset="1m",
        labels={"limit": "storage"},
        says=f"{N1} is expected to reach its limit of storage in 13d 22h 59m 0s.",
        later=f"{N1} is expected to reach its limit of storage in 13d 22h 58m 0s.",
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
            silent={"no limit": {f"{subject}_{limit}_{most}_bytes": None}},
            says=says.replace("LIMIT", limit),
        )
        for alert, subject, of, most, bad, calm, every, says in (
            (
                "ServerStorageHigh",
                "server",
                SERVER,
                "max",
                901,
                900,
                "1m",
                f"{N1} uses 90.1% of the LIMIT that JetStream may take there.",
            ),
            (
                "AccountStorageFull",
                "account",
                ACCOUNT,
                "limit",
                950,
                949,
                "15s",
                f"{APP} uses 95% of its LIMIT limit. At 100% every stream of the account refuses new messages.",
            ),
            (
                "AccountStorageHigh",
                "account",
                ACCOUNT,
                "limit",
                800,
                799,
                "1m",
                f"{APP} uses 80% of its LIMIT limit.",
            ),
        )
        for limit in ("storage", "memory")
    ),
)

SERVERS = (
    Row(
        "MetaLeaderMissing",
        SYSTEM,
        bad={'meta_leader{server="n1"}': 0, 'meta_leader{server="n2"}': 0},
        calm={'meta_leader{server="n1"}': 0, 'meta_leader{server="n2"}': 1},
        context={'server_up{server="n1"}': 1, 'server_up{server="n2"}': 1},
        says=LEADERLESS,
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
        says=LEADERLESS,
    ),
    Row(
        "ServerDown",
        SERVER,
        bad={"server_up": 0},
        calm={"server_up": 1},
        guarded=False,
        says=f"{N1} has not answered for 2 minutes. It was seen within the last hour.",
    ),
    Row(
        "ServerUnhealthy",
        SERVER,
        bad={"server_healthy": 0},
        calm={"server_healthy": 1},
        says=f"{N1} answers and calls itself unhealthy: see its healthz for the reason.",
    ),
    Row(
        "ServerClockOffset",
        SERVER,
        case="ahead",
        # The other server is right: that the two differ is not told a second time.
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
        says=f"The clock of server n1 (system {{system}}) is off by at least 1.1s. {SUSPECT}",
    ),
    Row(
        "ServerClockOffset",
        SERVER,
        case="behind",
        bad={"server_clock_offset_seconds": -1.6},
        calm={"server_clock_offset_seconds": -1.5},
        context={"server_clock_uncertainty_seconds": 0.5},
        says=f"The clock of server n1 (system {{system}}) is off by at least 1.1s. {SUSPECT}",
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
        says=f"The clocks of the servers of system {{system}} differ by at least 1.2s. {SUSPECT}",
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
            says=f"{whose} (system {{system}}): 1.2% of the JetStream API requests of the last 15 minutes "
            "were answered with an error. Rejected publishes are not among them.",
        )
        for subject, of, whose in (
            ("server", SERVER, "Server n1"),
            ("account", ACCOUNT, "Account APP"),
        )
    ),
    Row(
        "ClientsTooSlow",
        SERVER,
        case="server",
        bad={"server_slow_consumers_total": after("5m", 0, 2)},
        calm={"server_slow_consumers_total": 2},
        # The account's own count of the same event is not told a second time.
        context={'account_slow_consumers_total{account="APP"}': after("5m", 0, 2)},
        every="1m",
        onset="5m",
        lingers=True,
        says=CUT_OFF.format(""),
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
        says=CUT_OFF.format(" (account APP)"),
    ),
    Row(
        "MetaPeerOffline",
        SERVER,
        bad={"meta_replica_offline": 1},
        calm={"meta_replica_offline": 0},
        says=f"{N1} is offline in the view of the meta leader. It still counts for the majority.",
    ),
    Row(
        "MetaPendingHigh",
        SYSTEM,
        bad={"meta_pending": 501},
        calm={"meta_pending": 500},
        says="The meta leader of system {system} has 501 operations still to apply: creating and "
        "changing streams and consumers is slow or times out.",
    ),
)

EXPORTER = (
    Row(
        "ExporterStale",
        SYSTEM,
        bad={"snapshot_age_seconds": 46},
        calm={"snapshot_age_seconds": 45},
        guarded=False,
        silent={
            # A slow poll: the age swings through the limit, and that is no staleness.
            "polled every minute": {"snapshot_age_seconds": lambda at: at % 60},
        },
        says="The newest data of system {system} is 46s old: the exporter runs and gets no answers. "
        "Until it does, no other alert can fire for this system.",
    ),
    Row(
        "ExporterPartial",
        SYSTEM,
        bad={'request_success{request="jsz"}': 0},
        calm={'request_success{request="jsz"}': 1},
        every="1m",
        labels={"request": "jsz"},
        says="The request jsz has failed for 15 minutes (system {system}). What hangs on it is absent: "
        "alerts on it cannot fire.",
    ),
    Row(
        "ExporterSeriesDropped",
        SYSTEM,
        bad={"series_dropped_total": after("1h10m", 0, 4)},
        calm={"series_dropped_total": 4},
        every="1m",
        onset="1h10m",
        lingers=True,
        says="The exporter left out series of system {system} (4 in the last hour, added up over the "
        "polls): the cap max_series is reached, and what is shown is not everything.",
    ),
)
