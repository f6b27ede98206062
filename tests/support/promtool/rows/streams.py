"""The alert table: streams, what they hold, their copies, what is published to them."""

from __future__ import annotations

from support.promtool.alert_row import KEY_VALUE, OBJECTS, STREAM, Row, after, between, ramp

ORDERS = "Stream ORDERS (account APP, system {system})"
GONE = "Messages that publishers were told are stored are gone."
CUT_OFF = (
    "Stream ORDERS (account APP, system {{system}}) draws from {} and has not heard from it for "
    "long, or reports an error. What is published there does not arrive here."
)
CONFLICTS = (
    "Stream ORDERS (account APP, system {{system}}) rejected {} of the publishes of the last 15 "
    "minutes for a wrong last sequence or message id: several writers race, or one retries with an "
    "old expectation."
)
REPLICA = "The replica of stream ORDERS on server n1 (account APP, system {system})"
_SETTLED = {"stream_up": 1, "stream_recreated_total": 0}
_YOUNG = {"stream_up": after("5m", None, 1)}
_REMADE = {"stream_recreated_total": after("6m", 0, 1)}
_WORKQUEUE = 'stream_info{retention="workqueue",leader="n1"}'
_INTEREST = 'stream_info{retention="interest",leader="n1"}'

STATE = (
    Row(
        "StreamNoLeader",
        STREAM,
        bad={"stream_up": after("6m", 1, 0)},
        calm={"stream_up": 1},
        context={"stream_recreated_total": 0},
        onset="6m",
        silent={"young": {"stream_up": after("5m", None, 0)}, "just made again": _REMADE},
        says=f"{ORDERS} has no leader, or is listed as missing or offline. Publishes fail or time out, "
        "and its consumers stand still. It may have lost the majority of its replicas.",
    ),
    Row(
        "StreamDataLost",
        STREAM,
        case="damaged",
        bad={"stream_lost_messages": after("6m", 0, 3)},
        calm={"stream_lost_messages": 0},
        context=_SETTLED,
        onset="6m",
        lingers=True,
        labels={"sign": "damaged store"},
        silent={"young": _YOUNG, "just made again": _REMADE},
        says=f"{ORDERS} shows the sign of lost data: damaged store (3). {GONE}",
    ),
    Row(
        "StreamDataLost",
        STREAM,
        case="regression",
        bad={"stream_sequence_regressions_total": after("6m", 0, 1)},
        calm={"stream_sequence_regressions_total": 1},
        context=_SETTLED,
        onset="6m",
        lingers=True,
        labels={"sign": "last sequence went back"},
        silent={"young": _YOUNG, "just made again": _REMADE},
        says=f"{ORDERS} shows the sign of lost data: last sequence went back (1). {GONE}",
    ),
    Row(
        "StreamDataLost",
        STREAM,
        case="ahead",
        bad={'consumer_ahead_of_stream_messages{consumer="worker"}': after("6m", None, 40)},
        calm={
            'consumer_ahead_of_stream_messages{consumer="worker"}': between("6m", "6m15s", 40, None)
        },
        context=_SETTLED,
        onset="8m30s",
        lingers=True,
        labels={"sign": "consumer ahead of stream"},
        silent={"young": {"stream_up": after("8m", None, 1)}},
        says=f"{ORDERS} shows the sign of lost data: consumer ahead of stream (40). {GONE}",
    ),
    Row(
        "StreamRecreated",
        STREAM,
        bad={"stream_recreated_total": after("5m", 0, 1)},
        calm={"stream_recreated_total": 1},
        every="1m",
        onset="5m",
        lingers=True,
        says=f"{ORDERS} became another stream of the same name in the last 15 minutes. Its former "
        "messages and consumers are gone, and publishers that expect a sequence will fail.",
    ),
    Row(
        "StreamRestored",
        STREAM,
        bad={"stream_restores_total": after("21m", None, 1)},
        calm={"stream_restores_total": 1},
        every="1m",
        onset="21m",
        lingers=True,
        says=f"{ORDERS} was restored from a backup in the last 15 minutes. What was stored after that "
        "backup is not in it.",
    ),
    Row(
        "StreamInconsistent",
        STREAM,
        bad={"stream_subjects": 101},
        calm={"stream_subjects": 100},
        context={"stream_messages": 100},
        silent={"empty": {"stream_messages": 0}},
        says=f"{ORDERS} claims 101 subjects and fewer messages than that, which cannot be.",
    ),
    Row(
        "InterestStreamDiscarding",
        STREAM,
        bad={"stream_consumers": 0},
        calm={"stream_consumers": 1},
        context={"stream_stored_messages_total": ramp(0, 60), _INTEREST: 1},
        onset="15s",
        silent={
            "nothing published": {"stream_stored_messages_total": 500},
            "limits": {_INTEREST: None, 'stream_info{retention="limits",leader="n1"}': 1},
        },
        says=f"{ORDERS} has interest retention and no consumer: it acknowledged about 300 messages in "
        "the last 5 minutes and kept none.",
    ),
    Row(
        "WorkqueueStuckMessages",
        STREAM,
        bad={"stream_messages": 4},
        calm={"stream_messages": 0},
        context={
            _WORKQUEUE: 1,
            'consumer_num_pending{consumer="worker"}': 0,
            'consumer_num_ack_pending{consumer="worker"}': 0,
            'consumer_num_pending{consumer="other"}': 0,
            'consumer_num_ack_pending{consumer="other"}': 0,
            'consumer_up{consumer="worker"}': 1,
        },
        every="1m",
        silent={
            "one has work": {'consumer_num_pending{consumer="other"}': 1},
            "one is working": {'consumer_num_ack_pending{consumer="other"}': 1},
            "one is ephemeral": {
                'consumer_num_pending{consumer="_ephemeral"}': 4,
                'consumer_num_ack_pending{consumer="_ephemeral"}': 0,
            },
            "one is silent": {'consumer_up{consumer="other"}': 0},
            "limits": {_WORKQUEUE: None, 'stream_info{retention="limits",leader="n1"}': 1},
        },
        says=f"{ORDERS} is a work queue with 4 messages, and none of its consumers has any left to do: "
        "they ran out of max_deliver, or match no consumer's filter.",
    ),
    Row(
        "StreamUnread",
        STREAM,
        bad={"stream_consumers": 0},
        calm={"stream_consumers": 1},
        context={"stream_stored_messages_total": ramp(0, 6)},
        every="2m",
        onset="2m",
        silent={
            "key-value": KEY_VALUE,
            "objects": OBJECTS,
            "interest": {_INTEREST: 1},
            "mirrored": {'stream_source_active_seconds{stream="COPY",source="ORDERS"}': 1},
            "idle": {"stream_stored_messages_total": 99},
        },
        says=f"{ORDERS} took about 360 messages in the last hour and has had no consumer for a day.",
    ),
    Row(
        "ConfigFinding",
        STREAM,
        bad={'stream_config_findings{check="dupe-window-short",severity="warn"}': 2},
        calm={'stream_config_findings{check="dupe-window-short",severity="warn"}': 0},
        every="1m",
        labels={"check": "dupe-window-short"},
        silent={
            "only information": {
                'stream_config_findings{check="dupe-window-short",severity="warn"}': None,
                'stream_config_findings{check="dupe-window-short",severity="info"}': 2,
            }
        },
        says=f"{ORDERS}: 2 of its assets fail the check dupe-window-short of the audit.",
    ),
    Row(
        "ConfigFinding",
        STREAM,
        case="grave",
        bad={'stream_config_findings{check="interest-orphan",severity="crit"}': 2},
        calm={'stream_config_findings{check="interest-orphan",severity="crit"}': 0},
        every="1m",
        labels={"check": "interest-orphan"},
        says=f"{ORDERS}: 2 of its assets fail the check interest-orphan of the audit.",
    ),
)

COPIES = (
    Row(
        "StreamReplicaOffline",
        {**STREAM, "server": "n1"},
        bad={"stream_replica_offline": 1},
        calm={"stream_replica_offline": 0},
        says=f"{REPLICA} is offline in the view of the stream's leader. One more may cost the majority.",
    ),
    Row(
        "StreamReplicaLagging",
        {**STREAM, "server": "n1"},
        bad={"stream_replica_lag": 1001},
        calm={"stream_replica_lag": 1000},
        silent={
            "owner's limit": {'stream_threshold{limit="peer-lag-critical"}': 50_000},
            "catches up": {"stream_replica_lag": lambda at: 5000.0 if at % 240 else 0.0},
        },
        lingers=True,
        says=f"{REPLICA} has been at least 1.001k entries behind its leader for 15 minutes.",
    ),
    Row(
        "StreamReplicasDiverged",
        {**STREAM, "server": "n1"},
        bad={"stream_replica_divergence_messages": 1001},
        calm={"stream_replica_divergence_messages": 1000},
        context={"stream_messages": 19_000},
        silent={"a small share": {"stream_messages": 20_020}},
        says=f"{REPLICA} differs from its leader by 1.001k messages although the leader sees no lag. If "
        "it becomes the leader, readers see other data.",
    ),
    Row(
        "StreamLeaderFlapping",
        STREAM,
        bad={"stream_leader_changes_total": lambda at: float(max(0, min(4, at // 120 - 10)))},
        calm={"stream_leader_changes_total": lambda at: float(max(0, min(3, at // 120 - 10)))},
        every="1m",
        onset="28m",
        lingers=True,
        says=f"{ORDERS} has changed its leader about 4 times in the last 15 minutes. Each time "
        "publishes fail for seconds and acknowledgements may be lost.",
    ),
    Row(
        "StreamMirrorStale",
        STREAM,
        case="silent",
        bad={'stream_source_active_seconds{source="ORIGIN"}': 301},
        calm={'stream_source_active_seconds{source="ORIGIN"}': 300},
        context={'stream_stored_messages_total{stream="ORIGIN"}': ramp(0, 60)},
        labels={"source": "ORIGIN"},
        silent={
            "origin idle": {'stream_stored_messages_total{stream="ORIGIN"}': 7},
            "owner's limit": {'stream_threshold{limit="seen-critical"}': 3600},
        },
        says=CUT_OFF.format("ORIGIN"),
    ),
    Row(
        "StreamMirrorStale",
        STREAM,
        case="of the same name elsewhere",
        # The stream itself is no witness for an origin that has its name in another domain.
        bad={'stream_source_active_seconds{source="ORDERS"}': 301},
        calm={'stream_source_active_seconds{source="ORDERS"}': 300},
        context={"stream_stored_messages_total": 7},
        labels={"source": "ORDERS"},
        says=CUT_OFF.format("ORDERS"),
    ),
    Row(
        "StreamMirrorStale",
        STREAM,
        case="error",
        bad={'stream_source_error{source="ORIGIN"}': 1},
        calm={'stream_source_error{source="ORIGIN"}': 0},
        labels={"source": "ORIGIN"},
        says=CUT_OFF.format("ORIGIN"),
    ),
)

PUBLISHING = (
    Row(
        "PublishConflictsHigh",
        STREAM,
        bad={
            'stream_publish_rejections_total{code="10071"}': ramp(0, 0.6),
            'stream_publish_rejections_total{code="10070"}': ramp(0, 0.6),
        },
        calm={
            'stream_publish_rejections_total{code="10071"}': ramp(0, 0.9),
            'stream_publish_rejections_total{code="10077"}': ramp(0, 5),
        },
        context={"stream_publishes_received_total": ramp(0, 100)},
        every="1m",
        onset="1m",
        lingers=True,
        says=CONFLICTS.format("1.2%"),
    ),
    Row(
        "PublishConflictsHigh",
        STREAM,
        case="account source",
        bad={'stream_publish_rejections_total{code="10164"}': ramp(0, 1.2)},
        calm={'stream_publish_rejections_total{code="10164"}': ramp(0, 0.9)},
        context={"stream_stored_messages_total": ramp(0, 100)},
        every="1m",
        onset="1m",
        lingers=True,
        says=CONFLICTS.format("1.186%"),
    ),
    Row(
        "PublishesNotStored",
        STREAM,
        bad={"stream_publishes_unstored_total": ramp(0, 5.2)},
        calm={"stream_publishes_unstored_total": ramp(0, 4.8)},
        context={"stream_publishes_received_total": ramp(0, 100)},
        every="1m",
        onset="1m",
        lingers=True,
        silent={"nothing received": {"stream_publishes_received_total": 100}},
        says=f"{ORDERS} did not store 5.2% of the publishes that reached it in the last 15 minutes: they "
        "were duplicates, or were rejected.",
    ),
    Row(
        "DedupeMemoryHigh",
        STREAM,
        bad={"stream_dedupe_ids": 2_236_963},
        calm={"stream_dedupe_ids": 2_236_962},
        every="1m",
        says=f"{ORDERS} holds so many message ids for its duplicate window that they take about 512MiB "
        "of memory on each replica.",
    ),
)
