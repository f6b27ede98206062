"""The watch itself: is the exporter there, are its answers fresh and whole, does Prometheus work?"""

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

_MEMORY = "1d"  # an exporter or a system that was taken away is missed for this long


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
    hold="5m",
    guarded=False,
    summary="An exporter is gone: nobody watches what it watched.",
    description="{{ with $labels.instance }}The exporter at {{ . }} does not answer Prometheus."
    "{{ else }}{{ with $labels.system }}No exporter tells about system {{ . }} any more."
    "{{ else }}Prometheus has no exporter to scrape.{{ end }}{{ end }} Without another replica no "
    "alert can fire for what it watched.",
    condition="A target that was an exporter does not answer, or a system of the last day is told "
    "of no more, or there is no exporter at all.",
    board=Board.EXPORTER,
)

STALE = Alert(
    name="ExporterStale",
    severity=Severity.WARNING,
    when=freshest_age() > thresholds.SNAPSHOT_AGE,
    hold="5m",
    guarded=False,
    summary="The exporter cannot get new answers from a system.",
    description="The newest data of system {{ $labels.system }} is "
    f"{DURATION} old: the exporter runs and gets no answers. Until it does, no other alert can "
    "fire for this system.",
    condition="The freshest snapshot of the system is older than <snapshot_age>.",
    board=Board.EXPORTER,
)

PARTIAL = Alert(
    name="ExporterPartial",
    severity=Severity.WARNING,
    when=latest(catalog.QUESTION_SUCCESS).equals(0),
    hold="15m",
    summary="The exporter gets no full answer to one of its questions.",
    description="The question {{ $labels.question }} has failed for 15 minutes "
    f"({SYSTEM}). What hangs on it is absent: alerts on it cannot fire.",
    condition="A question is not answered in full.",
    board=Board.EXPORTER,
)

SERIES_DROPPED = Alert(
    name="ExporterSeriesDropped",
    severity=Severity.WARNING,
    when=increase(catalog.SERIES_DROPPED, "1h") > 0,
    hold="0s",
    summary="The exporter leaves series out because there are too many.",
    description=f"The exporter left out series of system {{{{ $labels.system }}}} ({COUNT} in the "
    "last hour, added up over the polls): the cap max_series is reached, and what is shown is not "
    "everything.",
    condition="The cap on series was reached in the last hour.",
    board=Board.EXPORTER,
)

WATCHDOG = Alert(
    name="Watchdog",
    severity=Severity.NONE,
    when=always() > 0,
    hold="0s",
    guarded=False,
    summary="This alert always fires: it proves that alerts get through.",
    description="Alerts from Prometheus reach Alertmanager. Let something outside notice when this "
    "one stops.",
    condition="Always.",
    board=Board.EXPORTER,
)

GROUPS = (Group("streamgauge.exporter", (DOWN, STALE, PARTIAL, SERIES_DROPPED, WATCHDOG)),)
