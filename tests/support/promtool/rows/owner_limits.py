"""The alert table: limits that owners set."""

from __future__ import annotations

from support.promtool.alert_row import CONSUMER, STREAM, Row, after

ORDERS = "Stream ORDERS (account APP, system {system})"
_SETTLED = {"stream_up": 1}

OWNERS = (
    *(
        Row(
            "OwnerLimitExceeded",
            CONSUMER,
            case=key,
            bad={metric: after("6m", 99, 100)},
            calm={metric: 99},
            context={
                "consumer_up": 1,
                f'consumer_threshold{{limit="{key}"}}': 100,
            },
            onset="6m",
            labels={"limit": key},
            silent={
                "not set": {f'consumer_threshold{{limit="{key}"}}': 0},
            },
            values="+worker;100;",
        )
        for key, metric in (
            ("outstanding-ack-critical", "consumer_num_ack_pending"),
            ("waiting-critical", "consumer_num_waiting"),
            ("unprocessed-critical", "consumer_num_pending"),
            ("redelivery-critical", "consumer_num_redelivered"),
        )
    ),
    *(
        Row(
            "OwnerLimitExceeded",
            CONSUMER,
            case=key,
            # 400 seconds after the last sign of life at 10 s.
            bad={metric: 10},
            calm={metric: lambda at: at - 394},
            context={
                "consumer_up": 1,
                f'consumer_threshold{{limit="{key}"}}': 395,
            },
            onset="6m45s",
            labels={"limit": key},
            silent={
                "alive": {metric: lambda at: at},
                "not set": {f'consumer_threshold{{limit="{key}"}}': 0},
            },
            values="+worker;695;",
            later="+worker;710;",
            lingers=True,
        )
        for key, metric in (
            ("last-delivery-critical", "consumer_last_delivery_timestamp_seconds"),
            ("last-ack-critical", "consumer_last_ack_timestamp_seconds"),
        )
    ),
    *(
        Row(
            "OwnerLimitExceeded",
            STREAM,
            case=key,
            bad={metric: after("6m", 99, 100)},
            calm={metric: 99},
            context={**_SETTLED, f'stream_threshold{{limit="{key}"}}': 100},
            onset="6m",
            labels={"limit": key},
            silent={
                "not set": {f'stream_threshold{{limit="{key}"}}': 0},
            },
            values="-100;",
        )
        for key, metric in (
            ("lag-critical", 'stream_source_lag{source="ORIGIN"}'),
            ("seen-critical", 'stream_source_active_seconds{source="ORIGIN"}'),
            ("peer-lag-critical", "stream_replica_lag"),
            ("peer-seen-critical", "stream_replica_active_seconds"),
            ("subjects-critical", "stream_subjects"),
        )
    ),
    *(
        Row(
            "OwnerLimitExceeded",
            STREAM,
            case=f"{key} too many",
            bad={metric: after("6m", 99, 100)},
            calm={metric: 99},
            context={
                **_SETTLED,
                f'stream_threshold{{limit="{key}-critical"}}': 100,
                f'stream_threshold{{limit="{key}-warn"}}': 80,
            },
            onset="6m",
            labels={"limit": f"{key}-critical"},
            silent={"few": {metric: 1}},
            values="-100;",
        )
        for key, metric in (("msgs", "stream_messages"), ("subjects", "stream_subjects"))
    ),
    *(
        Row(
            "OwnerLimitExceeded",
            STREAM,
            case=f"{key} too few",
            bad={metric: after("6m", 101, 100)},
            calm={metric: 101},
            context={
                **_SETTLED,
                f'stream_threshold{{limit="{key}-critical"}}': 100,
                f'stream_threshold{{limit="{key}-warn"}}': 150,
            },
            onset="6m",
            labels={"limit": f"{key}-critical"},
            silent={
                "many": {metric: 5000},
                "not set": {f'stream_threshold{{limit="{key}-critical"}}': 0, metric: 0},
            },
            values="-100;",
        )
        for key, metric in (("msgs", "stream_messages"), ("subjects", "stream_subjects"))
    ),
    Row(
        "OwnerLimitExceeded",
        STREAM,
        case="msgs alone",
        bad={"stream_messages": after("6m", 101, 100)},
        calm={"stream_messages": 101},
        context={**_SETTLED, 'stream_threshold{limit="msgs-critical"}': 100},
        onset="6m",
        labels={"limit": "msgs-critical"},
        silent={
            "many": {"stream_messages": 5000},
            "not set": {'stream_threshold{limit="msgs-critical"}': 0, "stream_messages": 0},
        },
        values="-100;",
    ),
    *(
        Row(
            "OwnerLimitExceeded",
            STREAM,
            case=f"{key} warned of at the same number",
            # Not below it: as with the nats CLI, too few.
            bad={metric: after("6m", 101, 100)},
            calm={metric: 101},
            context={
                **_SETTLED,
                f'stream_threshold{{limit="{key}-critical"}}': 100,
                f'stream_threshold{{limit="{key}-warn"}}': 100,
            },
            onset="6m",
            labels={"limit": f"{key}-critical"},
            values="-100;",
        )
        for key, metric in (("msgs", "stream_messages"), ("subjects", "stream_subjects"))
    ),
)
