"""Limits that owners set in the metadata of their streams and consumers (io.nats.monitor.*)."""

from __future__ import annotations

from alerts.annotations import ACCOUNT, NUMBER
from alerts.queries import latest
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.populations import in_service
from exporter import catalog

OWNER_LIMIT_EXCEEDED = Alert(
    name="OwnerLimitExceeded",
    severity=Severity.CRITICAL,
    when=in_service(latest(catalog.CONSUMER_LIMIT_EXCEEDED)).or_(
        latest(catalog.STREAM_LIMIT_EXCEEDED)
    )
    >= 0,
    for_="2m",
    summary="A stream or consumer exceeds a limit that its owner set.",
    description="{{ with $labels.consumer }}Consumer {{ . }} of stream{{ else }}Stream{{ end }} "
    f"{{{{ $labels.stream }}}} ({ACCOUNT}) exceeds its owner's limit io.nats.monitor."
    f"{{{{ $labels.limit }}}}: the value is {NUMBER}.",
    condition="A value exceeds the limit that the owner set in the metadata under io.nats.monitor "
    "(keys that end in -critical). For messages and subjects a warning limit sets the direction: a "
    "critical limit below it means too few. Without one, messages mean too few and subjects too "
    "many, as with the nats CLI. Not in the first 5 minutes of a stream or consumer.",
    board=Board.STREAM,
)

GROUPS = (Group("streamgauge.owners", (OWNER_LIMIT_EXCEEDED,)),)
