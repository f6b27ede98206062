"""Advisories and ack samples as real servers sent them: what is read, and that nothing ever raises."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from exporter.events.ack_samples import BOUNDS_SECONDS, read_ack_sample
from exporter.events.advisories import (
    KINDS,
    MALFORMED,
    OTHER,
    Advisory,
    kind_of,
    read_advisory,
    term_cause,
)

# Recorded on 2.9.10 and 2.15.1, standalone and (those with replicas) as a cluster of the domain hub.
NAK_2_9 = (
    "$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.S.C",
    b'{"type":"io.nats.jetstream.advisory.v1.nak","id":"RoQBXlloA08Gwwse0Xk2le",'
    b'"timestamp":"2026-11-16T08:49:52.94039453Z","stream":"S","consumer":"C",'
    b'"consumer_seq":2,"stream_seq":2,"deliveries":1}',
)
MAX_DELIVERIES_2_15 = (
    "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.S.C",
    b'{"type":"io.nats.jetstream.advisory.v1.max_deliver","id":"PtA1XAISJtWYprgwhesuJu",'
    b'"timestamp":"2026-11-16T08:49:55.820093767Z","stream":"S","consumer":"C",'
    b'"stream_seq":5,"deliveries":2}',
)
TERM_2_9 = (
    "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.C",
    b'{"type":"io.nats.jetstream.advisory.v1.terminated","id":"RoQBXlloA08Gwwse0Xk2pQ",'
    b'"timestamp":"2026-11-16T08:49:52.940434614Z","stream":"S","consumer":"C",'
    b'"consumer_seq":3,"stream_seq":3,"deliveries":1}',
)
TERM_BY_CLIENT_2_15 = (
    "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.C",
    b'{"type":"io.nats.jetstream.advisory.v1.terminated","id":"PtA1XAISJtWYprgwhesu9a",'
    b'"timestamp":"2026-11-16T08:49:54.716285801Z","stream":"S","consumer":"C",'
    b'"consumer_seq":4,"stream_seq":4,"deliveries":1,"reason":"bad payload"}',
)
TERM_BY_DELETE_2_15 = (
    "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.C",
    b'{"type":"io.nats.jetstream.advisory.v1.terminated","id":"PtA1XAISJtWYprgwhesuZO",'
    b'"timestamp":"2026-11-16T08:49:55.823428612Z","stream":"S","consumer":"C","consumer_seq":8,'
    b'"stream_seq":6,"deliveries":1,"reason":"Unacknowledged message was deleted"}',
)
RESTORE_2_15 = (
    "$JS.EVENT.ADVISORY.STREAM.RESTORE_COMPLETE.S",
    b'{"type":"io.nats.jetstream.advisory.v1.restore_complete","id":"PtA1XAISJtWYprgwheswU6",'
    b'"timestamp":"2026-11-16T08:49:56.145675716Z","stream":"S",'
    b'"start":"2026-11-16T08:49:56.140556779Z","end":"2026-11-16T08:49:56.145675716Z","bytes":472,'
    b'"client":{"start":"2026-11-16T08:49:54.704520551Z","host":"127.0.0.1","id":9,"acc":"APP",'
    b'"user":"app","lang":"python3","ver":"2.16.0","rtt":366864,"server":"n1","kind":"Client",'
    b'"client_type":"nats"}}',
)
SYSTEM_COPY_2_9 = (
    "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.S",
    b'{"type":"io.nats.jetstream.advisory.v1.stream_leader_elected","id":"2mr7baBjyuo6ThrxDnSGqI",'
    b'"timestamp":"2026-11-16T08:52:04.195172512Z","account":"APP","stream":"S","leader":"n3",'
    b'"replicas":[{"name":"n1","current":true,"active":38536,"peer":"fjFyEjc1"},'
    b'{"name":"n2","current":true,"active":175833,"peer":"44jzkV9D"},'
    b'{"name":"n3","current":true,"active":701167898,"peer":"BXScrY9i"}],"domain":"hub"}',
)
DOMAIN_LEADER_2_15 = (
    "$JS.EVENT.ADVISORY.DOMAIN.LEADER_ELECTED",
    b'{"type":"io.nats.jetstream.advisory.v1.domain_leader_elected","id":"BcLRJL0jo5XicBWv4aoJBI",'
    b'"timestamp":"2026-11-16T08:52:09.115333636Z","leader":"fjFyEjc1","replicas":'
    b'[{"name":"n3","current":false,"active":1056023,"lag":7,"peer":"BXScrY9i"},'
    b'{"name":"n1","current":true,"active":2809657,"peer":"fjFyEjc1"},'
    b'{"name":"n2","current":true,"active":74184,"peer":"44jzkV9D"}],"cluster":"C1","domain":"hub"}',
)
CREATED_2_9 = (
    "$JS.EVENT.ADVISORY.CONSUMER.CREATED.S.C",
    b'{"type":"io.nats.jetstream.advisory.v1.consumer_action","id":"RoQBXlloA08Gwwse0Xk2aK",'
    b'"timestamp":"2026-11-16T08:49:52.932802842Z","stream":"S","consumer":"C","action":"create"}',
)
ACK_2_9 = (
    b'{"type":"io.nats.jetstream.metric.v1.consumer_ack","id":"RoQBXlloA08Gwwse0Xk2tC",'
    b'"timestamp":"2026-11-16T08:49:52.941005257Z","stream":"S","consumer":"C","consumer_seq":6,'
    b'"stream_seq":2,"ack_time":290059,"deliveries":2}'
)
ACK_2_15 = (
    b'{"type":"io.nats.jetstream.metric.v1.consumer_ack","id":"PtA1XAISJtWYprgwhestu6",'
    b'"timestamp":"2026-11-16T08:49:54.716164472Z","stream":"S","consumer":"C","consumer_seq":1,'
    b'"stream_seq":1,"ack_time":717202,"deliveries":1}'
)


@pytest.mark.parametrize(
    ("recorded", "fields"),
    [
        (NAK_2_9, Advisory("consumer_msg_naked", "RoQBXlloA08Gwwse0Xk2le",
                           stream="S", consumer="C", stream_seq=2)),
        (MAX_DELIVERIES_2_15, Advisory("consumer_max_deliveries", "PtA1XAISJtWYprgwhesuJu",
                                       stream="S", consumer="C", stream_seq=5)),
        (TERM_BY_CLIENT_2_15, Advisory("consumer_msg_terminated", "PtA1XAISJtWYprgwhesu9a",
                                       stream="S", consumer="C", stream_seq=4,
                                       reason="bad payload")),
        (RESTORE_2_15, Advisory("stream_restore_complete", "PtA1XAISJtWYprgwheswU6", stream="S")),
        (SYSTEM_COPY_2_9, Advisory("stream_leader_elected", "2mr7baBjyuo6ThrxDnSGqI",
                                   account="APP", domain="hub", stream="S")),
        (DOMAIN_LEADER_2_15, Advisory("domain_leader_elected", "BcLRJL0jo5XicBWv4aoJBI",
                                      domain="hub")),
        (CREATED_2_9, Advisory("consumer_created", "RoQBXlloA08Gwwse0Xk2aK",
                               stream="S", consumer="C")),
    ],
)  # fmt: skip
def test_recorded_advisories_are_read(recorded: tuple[str, bytes], fields: Advisory) -> None:
    assert read_advisory(*recorded) == fields


@pytest.mark.parametrize(
    ("recorded", "reasons_reported", "cause"),
    [
        (TERM_2_9, False, "unknown"),  # servers before 2.10.4 report no reason
        (TERM_2_9, True, "client"),  # since then a server never leaves out its own reason
        (TERM_BY_CLIENT_2_15, True, "client"),
        (TERM_BY_DELETE_2_15, True, "deleted"),
    ],
)
def test_the_reason_gives_the_cause_of_a_term(
    recorded: tuple[str, bytes], reasons_reported: bool, cause: str
) -> None:
    advisory = read_advisory(*recorded)
    assert term_cause(advisory.reason, reasons_reported=reasons_reported) == cause


def test_a_leader_that_finds_messages_gone_blames_the_limits() -> None:
    assert term_cause("Message deleted by stream limits", reasons_reported=True) == "limits"


def test_a_kind_is_the_last_words_of_the_subject_without_names() -> None:
    assert kind_of("$JS.EVENT.ADVISORY.API.LIMIT_REACHED") == "api_limit_reached"
    assert kind_of("$JS.EVENT.ADVISORY.SERVER.META_RESCUE") == "server_meta_rescue"
    assert kind_of("$JS.EVENT.ADVISORY.STREAM.QUORUM_LOST.CREATED") == "stream_quorum_lost"


@pytest.mark.parametrize(
    "subject",
    ["$JS.EVENT.ADVISORY.STREAM.TELEPORTED.S", "$JS.EVENT.ADVISORY.STREAM", "", "STREAM.CREATED.S"],
)
def test_a_subject_that_is_not_known_is_of_another_kind(subject: str) -> None:
    expected = "stream_created" if subject.startswith("STREAM.CREATED") else OTHER
    assert kind_of(subject) == expected
    assert read_advisory(subject, b'{"stream":"S"}').kind == expected


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"[]",
        b'"nak"',
        b"{",
        b'{"stream":7,"consumer":"C","stream_seq":2}',
        b'{"stream":"S","consumer":"C","stream_seq":"2"}',
        b'{"stream":"S","consumer":"C"}',  # no message is named
        b'{"stream":"S","stream_seq":2}',  # no consumer is named
        b'{"stream":"\xff","consumer":"C","stream_seq":2}',
        b'{"x":' + b"[" * 100_000,
    ],
)
def test_an_incomplete_payload_is_malformed(payload: bytes) -> None:
    assert read_advisory(NAK_2_9[0], payload) == Advisory(MALFORMED)


@settings(max_examples=examples(300), deadline=None)
@given(
    subject=st.text(max_size=40) | st.sampled_from([NAK_2_9[0], RESTORE_2_15[0], "$JS.EVENT"]),
    payload=st.binary(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.dictionaries(
            st.sampled_from(["stream", "consumer", "stream_seq", "ack_time", "id"]), inner
        ),
        max_leaves=6,
    ).map(lambda value: json.dumps(value).encode()),
)
def test_nothing_that_arrives_can_raise(subject: str, payload: bytes) -> None:
    assert read_advisory(subject, payload).kind in KINDS
    sample = read_ack_sample(payload)
    assert sample is None or sample.seconds >= 0


@pytest.mark.parametrize(("payload", "seconds"), [(ACK_2_9, 0.000290059), (ACK_2_15, 0.000717202)])
def test_a_recorded_ack_sample_is_read_in_seconds(payload: bytes, seconds: float) -> None:
    sample = read_ack_sample(payload)
    assert sample is not None
    assert (sample.stream, sample.consumer) == ("S", "C")
    assert sample.seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "ack_time",
    [
        "-1",
        "1794819124836792340",  # a delivery time that the server had lost: since 1970
        '"290059"',
        "null",
    ],
)
def test_an_ack_sample_that_measures_nothing_is_none(ack_time: str) -> None:
    payload = ACK_2_9.replace(b'"ack_time":290059', f'"ack_time":{ack_time}'.encode())
    assert payload != ACK_2_9
    assert read_ack_sample(payload) is None


def test_buckets_reach_from_a_millisecond_to_five_minutes() -> None:
    assert (BOUNDS_SECONDS[0], BOUNDS_SECONDS[-1]) == (0.001, 300.0)
    assert list(BOUNDS_SECONDS) == sorted(set(BOUNDS_SECONDS))
