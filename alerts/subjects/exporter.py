"""The exporter: it runs, its data is fresh and complete, alerts reach Alertmanager."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import COUNT, DURATION, SYSTEM
from alerts.queries import (
    always,
    down_exporters,
    freshest_age,
    increase,
    last_reported,
    last_reported_by_down,
    latest,
    no_exporter,
)
from alerts.rule import Alert, Board, Group, Severity
from exporter import catalog

_MEMORY = "1d"  # how long a removed exporter or system counts as missing


_gone = (
    last_reported(catalog.SNAPSHOT_AGE_SECONDS, _MEMORY)
    .unless(latest(catalog.SNAPSHOT_AGE_SECONDS))
    .unless(last_reported_by_down(catalog.SNAPSHOT_AGE_SECONDS, _MEMORY))
    >= 0
)

DOWN = Alert(
    name="ExporterDown",
    severity=Severity.WARNING,
    when=down_exporters(_MEMORY).or_(_gone).or_(no_exporter(_MEMORY)),
    for_="5m",
    guarded=False,
    summary="An exporter is down: its systems are not monitored.",
    description="{{ with $labels.instance }}The exporter at {{ . }} does not respond to Prometheus."
    "{{ else }}{{ with $labels.system }}No exporter reports system {{ . }} any more."
    "{{ else }}Prometheus has no exporter to scrape.{{ end }}{{ end }} Without another replica no "
    "alert can fire for its systems.",
    condition="A target that was an exporter does not respond, or no exporter reports a system of the "
    "last day any more, or there is no exporter at all.",
    board=Board.EXPORTER,
)

STALE = Alert(
    name="ExporterStale",
    severity=Severity.WARNING,
    when=freshest_age() > thresholds.SNAPSHOT_AGE,
    for_="5m",
    guarded=False,
    summary="The exporter gets no new data from a system.",
    description="The newest data of system {{ $labels.system }} is "
    f"{DURATION} old: the exporter runs and gets no responses. Until it does, no other alert "
    "can fire for this system.",
    condition="The freshest snapshot of the system is older than <snapshot_age>.",
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

GROUPS = (Group("streamgauge.exporter", (DOWN, STALE, PARTIAL, SERIES_DROPPED, WATCHDOG)),)
