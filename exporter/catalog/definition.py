"""Makes the definition of a metric from its name, help text and facts."""

from __future__ import annotations

from exporter.metric import PREFIX, Kind, Level, Metric, Origin, Subject, Unit


def _kind_of(name: str) -> Kind:
    if name.endswith("_total"):
        return Kind.COUNTER
    return Kind.INFO if name.endswith("_info") else Kind.GAUGE


def _unit_of(name: str) -> Unit:
    last_word = name.removesuffix("_total").rpartition("_")[2]
    return Unit(last_word) if last_word in {unit.value for unit in Unit} else Unit.NONE


def define(
    name: str,
    meaning: str,
    *,
    subject: Subject,
    labels: tuple[str, ...],
    origin: Origin = Origin.RESPONSE,
    level: Level = Level.CORE,
    kind: Kind | None = None,
    source: str = "",
    purpose: str = "",
) -> Metric:
    """Kind and unit follow from the name; only exceptions state them."""
    return Metric(
        name=PREFIX + name,
        kind=kind or _kind_of(name),
        help=meaning,
        labels=labels,
        subject=subject,
        origin=origin,
        level=level,
        unit=_unit_of(name),
        source=source,
        purpose=purpose,
    )


def last_event_of(counter: Metric, *, purpose: str = "") -> Metric:
    """The time of the last event of a counter; both series appear with the first event."""
    counted = counter.name.removeprefix(PREFIX)
    return define(
        counted.removesuffix("_total") + "_last_event_timestamp_seconds",
        f"Time when the last event of {counted} was seen, on the exporter's clock. Both series "
        "appear with the first event and stay while the system does not respond.",
        subject=counter.subject,
        labels=counter.labels,
        origin=counter.origin,
        level=counter.level,
        purpose=purpose,
    )
