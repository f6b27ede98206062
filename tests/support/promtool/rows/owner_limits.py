"""The alert table: limits of owners. Which value exceeds which limit the exporter's own tests show."""

from __future__ import annotations

from support.promtool.alert_row import CONSUMER, STREAM, Row, after

OWNERS = tuple(
    Row(
        "OwnerLimitExceeded",
        of,
        case=case,
        bad={f'{case}_limit_exceeded{{limit="{limit}"}}': after("6m", None, value)},
        calm={f'{case}_limit_exceeded{{limit="{limit}"}}': None},
        context={f"{case}_up": 1},
        onset="6m",
        lingers=True,
        labels={"limit": limit},
        values=values,
    )
    for of, case, limit, value, values in (
        (CONSUMER, "consumer", "unprocessed-critical", 100, "+worker;100;"),
        (STREAM, "stream", "msgs-critical", 0, "-0;"),
    )
)
