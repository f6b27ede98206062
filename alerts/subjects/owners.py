"""Limits that owners set in the metadata of their streams and consumers (io.nats.monitor.*)."""

from __future__ import annotations

from functools import reduce

from alerts.annotations import ACCOUNT, NUMBER
from alerts.queries import by_replica, latest
from alerts.rule import Alert, Board, Group, Severity
from alerts.subjects.populations import in_service
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.functions import above_limit, below_limit, since

# key -> limited value. As in the nats CLI, 0 means "not set", and a value equal to the limit exceeds
# it.
_OF_CONSUMERS: dict[str, Expression] = {
    "outstanding-ack-critical": by_replica(catalog.CONSUMER_NUM_ACK_PENDING),
    "waiting-critical": by_replica(catalog.CONSUMER_NUM_WAITING),
    "unprocessed-critical": by_replica(catalog.CONSUMER_NUM_PENDING),
    "redelivery-critical": by_replica(catalog.CONSUMER_NUM_REDELIVERED),
    "last-delivery-critical": since(by_replica(catalog.CONSUMER_LAST_DELIVERY_TIMESTAMP_SECONDS)),
    "last-ack-critical": since(by_replica(catalog.CONSUMER_LAST_ACK_TIMESTAMP_SECONDS)),
}
_OF_STREAMS: dict[str, Expression] = {
    "lag-critical": by_replica(catalog.STREAM_SOURCE_LAG).max_without("source"),
    "seen-critical": by_replica(catalog.STREAM_SOURCE_ACTIVE_SECONDS).max_without("source"),
    "peer-lag-critical": by_replica(catalog.STREAM_REPLICA_LAG).max_without("server"),
    "peer-seen-critical": by_replica(catalog.STREAM_REPLICA_ACTIVE_SECONDS).max_without("server"),
}


def _limit(metric: Metric, key: str) -> Expression:
    return by_replica(metric, limit=key) > 0


def _exceeded(value: Expression, limits: Metric, key: str) -> Expression:
    return above_limit(value, _limit(limits, key), "limit")


def _warns_below(quantity: str) -> Expression:
    """The warning is below the critical limit: too many is bad."""
    warn = latest(catalog.STREAM_THRESHOLD, by=catalog.STREAM, limit=f"{quantity}-warn")
    critical = latest(catalog.STREAM_THRESHOLD, by=catalog.STREAM, limit=f"{quantity}-critical")
    return warn < critical


def _messages() -> Expression:
    """Too few is bad, unless a lower warning limit means too many."""
    messages = by_replica(catalog.STREAM_MESSAGES)
    limit = _limit(catalog.STREAM_THRESHOLD, "msgs-critical")
    many = above_limit(messages, limit, "limit").where(_warns_below("msgs"))
    return many.or_(below_limit(messages, limit, "limit").unless(_warns_below("msgs")))


def _subjects() -> Expression:
    """Too many is bad, unless a warning limit at or above it means too few."""
    subjects = by_replica(catalog.STREAM_SUBJECTS)
    limit = _limit(catalog.STREAM_THRESHOLD, "subjects-critical")
    warn = latest(catalog.STREAM_THRESHOLD, by=catalog.STREAM, limit="subjects-warn")
    critical = latest(catalog.STREAM_THRESHOLD, by=catalog.STREAM, limit="subjects-critical")
    few = below_limit(subjects, limit, "limit").where(warn >= critical)
    return few.or_(above_limit(subjects, limit, "limit").unless(warn >= critical))


def _any_of(*conditions: Expression) -> Expression:
    return reduce(Expression.or_, conditions)


_consumers = _any_of(
    *(_exceeded(value, catalog.CONSUMER_THRESHOLD, key) for key, value in _OF_CONSUMERS.items())
)
_streams = _any_of(
    *(_exceeded(value, catalog.STREAM_THRESHOLD, key) for key, value in _OF_STREAMS.items()),
    _messages(),
    _subjects(),
)

OWNER_LIMIT_EXCEEDED = Alert(
    name="OwnerLimitExceeded",
    severity=Severity.CRITICAL,
    when=in_service(_consumers.folded()).or_(_streams.folded()),
    for_="5m",  # a new asset is not yet what its owner expects of it
    summary="A stream or consumer exceeds a limit that its owner set.",
    description="{{ with $labels.consumer }}Consumer {{ . }} of stream{{ else }}Stream{{ end }} "
    f"{{{{ $labels.stream }}}} ({ACCOUNT}) exceeds its owner's limit io.nats.monitor."
    f"{{{{ $labels.limit }}}}: the value is {NUMBER}.",
    condition="A value exceeds the limit that the owner set in the metadata under io.nats.monitor "
    "(keys that end in -critical). For messages and subjects a warning limit sets the direction: a "
    "critical limit below it means too few. Without one, messages mean too few and subjects too "
    "many, as with the nats CLI. last-delivery and last-ack need the full level of "
    "detail.",
    board=Board.STREAM,
)

GROUPS = (Group("streamgauge.owners", (OWNER_LIMIT_EXCEEDED,)),)
