"""The alert table: consumers."""

from __future__ import annotations

from promtool.alert_row import CONSUMER, KEY_VALUE, OBJECTS, STREAM, Row, after, ramp

WORKER = "Consumer worker of stream ORDERS (account APP, system {system})"
THE_WORKER = "consumer worker of stream ORDERS (account APP, system {system})"
ABANDONED = (
    WORKER.replace("{system}", "{{system}}") + " has given up about {} messages after max_deliver "
    "deliveries. They stay in the stream until somebody deals with them, or limits remove them."
)
ORDERS = "Stream ORDERS (account APP, system {system})"
_ALL_HELD = {"consumer_num_ack_pending": 1, "consumer_max_ack_pending": 1}

DELIVERY = (
    Row(
        "ConsumerNoLeader",
        CONSUMER,
        bad={"consumer_up": after("6m", 1, 0)},
        calm={"consumer_up": 1},
        context={"stream_up": 1, "consumer_recreated_total": 0},
        onset="6m",
        silent={
            "stream leaderless too": {"stream_up": 0},
            "young": {"consumer_up": after("5m", None, 0)},
            "just made again": {"consumer_recreated_total": after("6m", 0, 1)},
        },
        says=f"{WORKER} has no leader, or is listed as missing or offline, while its stream has one. "
        "Nobody gets messages from it and acknowledgements are not taken.",
    ),
    Row(
        "ConsumerStalled",
        CONSUMER,
        bad={"consumer_stalled_seconds": 301},
        calm={"consumer_stalled_seconds": 300},
        context={"consumer_num_pending": 4200, "consumer_num_waiting": 3},
        silent={
            "nothing waits": {"consumer_num_pending": 0},
            "nobody asks": {"consumer_num_waiting": 0},
            # Work in order: the pull of the second worker waits until the first is done.
            "a standby asks, all is held": _ALL_HELD,
        },
        says=f"{WORKER} has had no delivery for 5m 1s while 4.2k messages wait. Clients are asking: up "
        "to 3 pull requests wait at the server.",
    ),
    Row(
        "ConsumerStalled",
        CONSUMER,
        case="push",
        bad={"consumer_stalled_seconds": 301},
        calm={"consumer_stalled_seconds": 300},
        context={
            "consumer_num_pending": 4200,
            "consumer_num_waiting": 0,
            "consumer_push_bound": 1,
        },
        silent={"not bound": {"consumer_push_bound": 0}, "all is held": _ALL_HELD},
        says=f"{WORKER} has had no delivery for 5m 1s while 4.2k messages wait. A subscriber is bound "
        "to it.",
    ),
    Row(
        "ConsumerMessagesLost",
        CONSUMER,
        bad={"consumer_lost_messages_total": after("6m", 0, 12)},
        calm={"consumer_lost_messages_total": 12},
        context={"consumer_up": 1, "consumer_recreated_total": 0},
        onset="6m",
        lingers=True,
        silent={
            "key-value": KEY_VALUE,
            "objects": OBJECTS,
            "young": {"consumer_up": after("5m", None, 1)},
            "just made again": {"consumer_recreated_total": after("6m", 0, 1)},
        },
        says=f"{WORKER} has missed about 12 messages in the last 15 minutes: limits or retention "
        "removed them first. They are gone from the stream.",
    ),
    Row(
        "ConsumerBacklogGrowing",
        CONSUMER,
        bad={"consumer_verdict": 3},
        calm={"consumer_verdict": 0},
        context={"consumer_lag_seconds": ramp(100, 1), "consumer_num_pending": 4200},
        every="1m",
        onset="1m",
        silent={
            "lag falls": {"consumer_lag_seconds": ramp(1000, -1)},
            "lag stays": {"consumer_lag_seconds": 1000},
        },
        says=f"{WORKER} has fallen behind for 30 minutes: 4.2k messages wait, the oldest unfinished "
        "one is 2m 11s old, and its age is growing.",
    ),
    Row(
        "ConsumerNoWorkerPulls",
        CONSUMER,
        bad={"consumer_verdict": 4},
        calm={"consumer_verdict": 1},
        context={"consumer_num_pending": 4200},
        every="1m",
        silent={"push": {"consumer_push_bound": 0}},
        says=f"{WORKER} has 4.2k messages waiting and not one pull request. It was not busy before, so "
        "it may be a job that runs now and then, or one that was forgotten.",
    ),
    Row(
        "ConsumerNotBound",
        CONSUMER,
        bad={"consumer_num_pending": 1},
        calm={"consumer_num_pending": 0},
        context={"consumer_push_bound": 0},
        every="1m",
        silent={"bound": {"consumer_push_bound": 1}},
        says=f"{WORKER} has nobody on its delivery subject. Messages waiting: 1.",
    ),
    Row(
        "ConsumerRetentionHeadroomLow",
        CONSUMER,
        case="age",
        bad={"consumer_retention_headroom_seconds": ramp(710, -1)},
        calm={"consumer_retention_headroom_seconds": ramp(760, -1)},
        context={"stream_max_age_seconds": 3600},
        every="1m",
        onset="1m",
        silent={
            "key-value": KEY_VALUE,
            "rises": {"consumer_retention_headroom_seconds": ramp(600, 1)},
            "stands still": {"consumer_retention_headroom_seconds": 100},
        },
        says=f"{WORKER} has only 19.28% of the retention left before messages that it has not read are "
        "removed, and it is getting less.",
    ),
    Row(
        "ConsumerRetentionHeadroomLow",
        CONSUMER,
        case="size",
        bad={"consumer_retention_headroom_ratio": ramp(0.19, -0.001)},
        calm={"consumer_retention_headroom_ratio": ramp(0.22, -0.001)},
        every="1m",
        onset="1m",
        silent={
            "rises": {"consumer_retention_headroom_ratio": ramp(0.1, 0.001)},
            "stands still": {"consumer_retention_headroom_ratio": 0.1},
        },
        says=f"{WORKER} has only 17.4% of the retention left before messages that it has not read are "
        "removed, and it is getting less.",
    ),
    Row(
        "ConsumerEphemeralLeak",
        STREAM,
        bad={"stream_ephemeral_consumers": ramp(10, 0.05)},
        calm={
            "stream_ephemeral_consumers": lambda at: 10 + 25 * (at >= 21600) + 25 * (at >= 64800)
        },
        every="1m",
        onset="24h",
        lingers=True,
        silent={
            "rose long ago": {"stream_ephemeral_consumers": after("6h", 10, 200)},
            "rose just now": {"stream_ephemeral_consumers": after("20h", 10, 200)},
        },
        says=f"{ORDERS} has 69 ephemeral consumers more than a day ago, and the number has risen all "
        "the time: a client probably makes new ones and never closes them.",
    ),
)

ACKS = (
    Row(
        "ConsumerAckPendingFull",
        CONSUMER,
        bad={"consumer_verdict": 5},
        calm={"consumer_verdict": 4},
        context={"consumer_num_ack_pending": 1000, "consumer_num_pending": 50},
        says=f"{WORKER} has 1k unacknowledged messages, as many as it may have, and gets no new ones. "
        "50 messages wait behind them.",
    ),
    Row(
        "ConsumerRedeliveryHigh",
        CONSUMER,
        bad={"consumer_redeliveries_total": ramp(0, 1.1)},
        calm={"consumer_redeliveries_total": ramp(0, 0.9)},
        context={"consumer_deliveries_total": ramp(0, 10)},
        every="1m",
        onset="11m",
        lingers=True,
        silent={"too few": {"consumer_deliveries_total": ramp(0, 6)}},
        says=f"11% of the deliveries to {THE_WORKER} in the last 15 minutes were repeated ones: work "
        "is done twice, or not at all.",
    ),
    Row(
        "ConsumerNakLoop",
        CONSUMER,
        bad={"consumer_naks_total": ramp(0, 5.2)},
        calm={"consumer_naks_total": ramp(0, 4.8)},
        context={"consumer_deliveries_total": ramp(0, 10)},
        every="1m",
        onset="11m",
        lingers=True,
        silent={"too few": {"consumer_deliveries_total": ramp(0, 6)}},
        says=f"Clients refused (nak) 52% of the deliveries to {THE_WORKER} in the last 15 minutes. A "
        "plain nak comes back at once: backoff does not apply to it.",
    ),
    Row(
        "ConsumerAckWaitTooShort",
        CONSUMER,
        case="mean",
        # Sixteen under way at one a second: sixteen seconds each.
        bad={"consumer_num_ack_pending": 16},
        calm={"consumer_num_ack_pending": 15},
        context={
            "consumer_ack_wait_seconds": 30,
            "consumer_deliveries_total": ramp(0, 60),
            "consumer_redeliveries_total": ramp(0, 2),
        },
        every="1m",
        onset="1m",
        lingers=True,
        silent={
            "nothing comes again": {"consumer_redeliveries_total": 7},
            "refused": {"consumer_naks_total": ramp(1, 1)},
        },
        says=f"{WORKER} takes 53.33% of its ack_wait to finish a message, and messages come again. Slow "
        "work is then done twice.",
    ),
    Row(
        "ConsumerAckWaitTooShort",
        CONSUMER,
        case="samples",
        bad={
            'consumer_ack_seconds_bucket{le="14"}': ramp(0, 90),
            'consumer_ack_seconds_bucket{le="18"}': ramp(0, 100),
            'consumer_ack_seconds_bucket{le="+Inf"}': ramp(0, 100),
        },
        calm={
            'consumer_ack_seconds_bucket{le="14"}': ramp(0, 100),
            'consumer_ack_seconds_bucket{le="18"}': ramp(0, 100),
            'consumer_ack_seconds_bucket{le="+Inf"}': ramp(0, 100),
        },
        context={
            "consumer_ack_wait_seconds": 30,
            "consumer_redeliveries_total": ramp(0, 2),
        },
        every="1m",
        onset="1m",
        lingers=True,
        silent={"nothing comes again": {"consumer_redeliveries_total": 7}},
        says=f"{WORKER} takes 58.67% of its ack_wait to finish a message, and messages come again. Slow "
        "work is then done twice.",
    ),
    Row(
        "ConsumerAckFloorStalled",
        CONSUMER,
        bad={"consumer_ack_floor_stalled_seconds": 301},
        calm={"consumer_ack_floor_stalled_seconds": 300},
        context={"consumer_ack_wait_seconds": 30, "consumer_num_ack_pending": 1},
        silent={
            "exhausted": {"consumer_ack_floor_exhausted": 1},
            "nothing unacked": {"consumer_num_ack_pending": 0},
        },
        says=f"The ack floor of {THE_WORKER} has not moved for 5m 1s, more than 10 times its ack_wait. "
        "The message after the floor is delivered again and again, or is held by a client that "
        "never answers.",
    ),
    Row(
        "ConsumerAckFloorGapHigh",
        CONSUMER,
        case="windows",
        bad={"consumer_ack_floor_gap_deliveries": 5001},
        calm={"consumer_ack_floor_gap_deliveries": 5000},
        context={"consumer_max_ack_pending": 1000},
        every="1m",
        silent={"exhausted": {"consumer_ack_floor_exhausted": 1}},
        says=f"{WORKER} has delivered 5.001k times above its ack floor: a few old messages are "
        "unfinished while newer ones go through. If it is made anew, all of them come again.",
    ),
    Row(
        "ConsumerAckFloorGapHigh",
        CONSUMER,
        case="unlimited",
        bad={"consumer_ack_floor_gap_deliveries": 100_001},
        calm={"consumer_ack_floor_gap_deliveries": 100_000},
        every="1m",
        silent={"exhausted": {"consumer_ack_floor_exhausted": 1}},
        says=f"{WORKER} has delivered 100k times above its ack floor: a few old messages are unfinished "
        "while newer ones go through. If it is made anew, all of them come again.",
    ),
    Row(
        "ConsumerAckPendingHigh",
        CONSUMER,
        bad={"consumer_num_ack_pending": 800},
        calm={"consumer_num_ack_pending": 799},
        context={"consumer_max_ack_pending": 1000},
        every="1m",
        silent={
            "in order": {"consumer_num_ack_pending": 9, "consumer_max_ack_pending": 9},
            "owner's limit": {'consumer_threshold{limit="outstanding-ack-critical"}': 950},
        },
        says=f"{WORKER} has used 80% of its max_ack_pending for 15 minutes. At 100% it gets no new "
        "messages.",
    ),
    Row(
        "ConsumerAckPendingHigh",
        CONSUMER,
        case="smallest window",
        bad={"consumer_num_ack_pending": 8},
        calm={"consumer_num_ack_pending": 7},
        context={"consumer_max_ack_pending": 10},
        every="1m",
        says=f"{WORKER} has used 80% of its max_ack_pending for 15 minutes. At 100% it gets no new "
        "messages.",
    ),
    Row(
        "ConsumerMessagesAbandoned",
        CONSUMER,
        case="first advisory",
        # The series begins with the first event: increase() alone would not see it.
        bad={"consumer_exhausted_total": after("16m", None, 2)},
        calm={"consumer_exhausted_total": after("0s", None, 2)},
        every="1m",
        onset="16m",
        lingers=True,
        says=ABANDONED.format(2),
    ),
    Row(
        "ConsumerMessagesAbandoned",
        CONSUMER,
        case="further advisories",
        bad={"consumer_exhausted_total": after("16m", 3, 5)},
        calm={"consumer_exhausted_total": 5},
        every="1m",
        onset="16m",
        lingers=True,
        says=ABANDONED.format(2),
    ),
    Row(
        "ConsumerMessagesAbandoned",
        CONSUMER,
        case="lasting",
        bad={"consumer_exhausted_messages": 2},
        calm={"consumer_exhausted_messages": 0},
        every="1m",
        onset="1h",
        lingers=True,
        says=ABANDONED.format(2),
    ),
    Row(
        "ConsumerRecreated",
        CONSUMER,
        bad={"consumer_recreated_total": after("5m", 0, 1)},
        calm={"consumer_recreated_total": 1},
        every="1m",
        onset="5m",
        lingers=True,
        says=f"{WORKER} became another consumer of the same name, or was reset, in the last 15 minutes. "
        "Where it starts now depends on its deliver policy: messages may come again or be skipped.",
    ),
    Row(
        "ConsumerRemoved",
        STREAM,
        bad={"stream_consumers_removed_total": after("5m", 0, 1)},
        calm={"stream_consumers_removed_total": 1},
        every="1m",
        onset="5m",
        lingers=True,
        says=f"{ORDERS} has lost about 1 durable consumer(s) in the last 15 minutes. Their positions are "
        "gone with them.",
    ),
)
