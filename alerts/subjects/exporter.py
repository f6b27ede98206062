"""The exporter: it runs, its data is fresh and complete, alerts reach Alertmanager."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import COUNT, DURATION, SYSTEM
from alerts.open_alerts import MEMORY
from alerts.queries import (
    LOOKBACK,
    always,
    by_replica,
    down_exporters,
    each_target,
    increase,
    last_reported,
    latest,
    newest,
    no_exporter,
)
from alerts.rule import Alert, Board, Group, Severity
from exporter import catalog

_age = newest(catalog.SNAPSHOT_AGE_SECONDS)

SYSTEM_UNREACHABLE = Alert(
    name="SystemUnreachable",
    severity=Severity.CRITICAL,
    when=_age > thresholds.SYSTEM_SILENCE,
    for_="0s",
    guarded=False,
    summary="A NATS system does not respond: it is down, or cannot be reached.",
    description="No server of system {{ $labels.system }} has responded to any exporter for "
    f"{DURATION}. Until one does, only pages that were open before are shown for it; new faults "
    "are not seen.",
    condition="The newest response of the system to any exporter is older than <system_silence>.",
    board=Board.EXPORTER,
)

SYSTEM_UNMONITORED = Alert(
    name="SystemUnmonitored",
    severity=Severity.CRITICAL,
    when=last_reported(catalog.SNAPSHOT_AGE_SECONDS, MEMORY).unless(
        latest(catalog.SNAPSHOT_AGE_SECONDS)
    )
    >= 0,
    for_="1m",
    guarded=False,
    summary="No exporter reports a NATS system any more.",
    description="No exporter has reported system {{ $labels.system }} for 3 minutes: the last one is "
    "down or was removed, or was restarted while the system did not respond. Faults of this system "
    "are not seen.",
    condition="An exporter reported the system within the last day, and none has for 3 minutes.",
    board=Board.EXPORTER,
)

_seen = by_replica(catalog.SERVER_UP).equals(1)
_exporters = _seen.max_without("server").folded("count")
_shared_servers = _seen.folded("count").max_without("server") > 1
_starts = by_replica(catalog.SERVER_START_TIMESTAMP_SECONDS)
# Servers of one name that started at different times are two servers.
_namesakes = (
    _starts.folded() - _starts.folded("min") > thresholds.SERVER_START_DIFFERENCE
).max_without("server")

IDENTITY_SHARED = Alert(
    name="SystemIdentityShared",
    severity=Severity.WARNING,
    when=(_exporters > 1).unless(_shared_servers).or_((_exporters > 1).where(_namesakes)),
    for_="10m",
    summary="Exporters report different servers as one NATS system.",
    description=f"{COUNT} exporters report system {{{{ $labels.system }}}}, and their servers are not "
    "the same: two systems share one name, and hide each other's faults.",
    condition="Several exporters report a system with equal labels of the scrape. Either no server is "
    "reported by two of them, or a server of one name started at times that differ by more than "
    "<server_start_difference>.",
    board=Board.EXPORTER,
)

DOWN = Alert(
    name="ExporterDown",
    severity=Severity.WARNING,
    when=down_exporters(MEMORY).or_(no_exporter(MEMORY)),
    for_="5m",
    guarded=False,
    summary="An exporter is down.",
    description="{{ with $labels.instance }}The exporter at {{ . }} does not respond to Prometheus. "
    "If it was the last one of a system, JetStreamSystemUnmonitored fires too."
    "{{ else }}Prometheus has no exporter to scrape: no alert can fire.{{ end }}",
    condition="A target that was an exporter in the last day does not respond, or there is no "
    "exporter at all.",
    board=Board.EXPORTER,
)

STALE = Alert(
    name="ExporterStale",
    severity=Severity.WARNING,
    when=each_target(catalog.SNAPSHOT_AGE_SECONDS, "min_over_time", LOOKBACK)
    > thresholds.SNAPSHOT_AGE,
    for_="5m",
    guarded=False,
    summary="An exporter gets no new data from a system.",
    description="The newest data of system {{ $labels.system }} in the exporter at "
    f"{{{{ $labels.instance }}}} is {DURATION} old: it runs and gets no responses. Another exporter "
    "may still get them.",
    condition="The snapshot of the system in one exporter is older than <snapshot_age>.",
    board=Board.EXPORTER,
)

PARTIAL = Alert(
    name="ExporterPartial",
    severity=Severity.WARNING,
    when=latest(catalog.REQUEST_SUCCESS).equals(0),
    for_="15m",
    summary="One request of the exporter fails or gets an incomplete response.",
    description="The request {{ $labels.request }} has failed for 15 minutes "
    f"({SYSTEM}). Its metrics are absent, and alerts on them cannot fire.",
    condition="A request fails or gets an incomplete response.",
    board=Board.EXPORTER,
)

SERIES_DROPPED = Alert(
    name="ExporterSeriesDropped",
    severity=Severity.WARNING,
    when=increase(catalog.SERIES_DROPPED, "1h") > 0,
    for_="0s",
    summary="The exporter drops series because there are too many.",
    description=f"The exporter dropped series of system {{{{ $labels.system }}}} ({COUNT} in the "
    "last hour, added up over the polls): the cap max_series is reached, and the metrics are "
    "incomplete.",
    condition="The cap on series was reached in the last hour.",
    board=Board.EXPORTER,
)

WATCHDOG = Alert(
    name="Watchdog",
    severity=Severity.NONE,
    when=always() > 0,
    for_="0s",
    guarded=False,
    summary="This alert always fires: it proves that alerts get through.",
    description="Alerts from Prometheus reach Alertmanager. An external system must notice when this "
    "one stops.",
    condition="Always.",
    board=Board.EXPORTER,
)

GROUPS = (
    Group(
        "streamgauge.exporter",
        (
            SYSTEM_UNREACHABLE,
            SYSTEM_UNMONITORED,
            IDENTITY_SHARED,
            DOWN,
            STALE,
            PARTIAL,
            SERIES_DROPPED,
            WATCHDOG,
        ),
    ),
)
