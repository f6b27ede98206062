"""Which replies are publishes that were not stored; payloads as real servers sent them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from exporter.events.publish_acks import UNNAMED_STREAM, Unstored, read_publish_ack


@pytest.mark.parametrize(
    ("payload", "fields"),
    [
        # 2.9.10
        (b'{"stream":"S", "seq":2,"duplicate": true}', Unstored("S")),
        (b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 2"},'
         b'"stream":"S","seq":0}', Unstored("S", 10071)),
        (b'{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},'
         b'"stream":"FULL","seq":0}', Unstored("FULL", 10077)),
        # 2.10.26, R3: the first copy is still under way
        (b'{"stream":"S", "seq":0,"duplicate": true}', Unstored("S")),
        # 2.15.1
        (b'{"stream":"S","seq":2,"duplicate": true}', Unstored("S")),
        (b'{"stream":"S","domain":"hub","seq":2,"duplicate": true}', Unstored("S")),
        (b'{"error":{"code":400,"err_code":10060,"description":"expected stream does not match"},'
         b'"stream":"S","seq":0}', Unstored("S", 10060)),
        (b'{"error":{"code":400,"err_code":10201,'
         b'"description":"atomic publish batch contains duplicate message id"},'
         b'"stream":"AT","seq":0}', Unstored("AT")),
        (b'{"error":{"code":409,"err_code":10158,'
         b'"description":"duplicate message id is in process"},"stream":"S","seq":0}',
         Unstored("S")),
        # 2.14.6 and 2.15.1: one message of a fast batch
        (b'{"type":"err","seq":6,"error":{"code":400,"err_code":10071,'
         b'"description":"wrong last sequence: 3"}}', Unstored(UNNAMED_STREAM, 10071)),
    ],
)  # fmt: skip
def test_a_publish_that_was_not_stored_is_known_by_its_ack(
    payload: bytes, fields: Unstored
) -> None:
    assert read_publish_ack(payload) == fields


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b'{"stream":"S", "seq":1}',  # 2.9.10: stored
        b'{"stream":"S","seq":1}',
        b'{"stream":"AT","seq":3,"batch":"b1","count":2}',
        b'{"stream":"duplicate","seq":1}',
        b'{"stream":"S","seq":1,"duplicate": false}',
        b'{"type":"ack","seq":0,"msgs":10}',
        # The API's own errors are no publishes.
        b'{"type":"io.nats.jetstream.api.v1.stream_info_response","error":{"code":404,'
        b'"err_code":10059,"description":"stream not found"},"total":0,"offset":0,"limit":0}',
        # Applications send JSON replies too.
        b'{"error":{"code":400,"message":"bad request"}}',
        b'{"error":{"code":400,"err_code":10071},"seq":0}',
        b'{"error":{"err_code":400},"stream":"S","seq":0}',
        b'{"stream":"video","duplicate":true}',
        b'{"stream":"","seq":1,"duplicate":true}',
        b'{"stream":"S","seq":2,"duplicate": true}' + b" " * 5000,
        b'{"stream":"S","seq":2,"duplicate": tru',
        b'{"stream":"\xff","seq":2,"duplicate": true}',
        b'{"error":{' + b'"x":{' * 800,
    ],
)
def test_whatever_else_is_replied_is_left_alone(payload: bytes) -> None:
    assert read_publish_ack(payload) is None


@settings(max_examples=examples(300), deadline=None)
@given(
    opening=st.sampled_from(
        [b"", b'{"stream":"', b'{"error":{', b'{"type":"err",', b'{"duplicate"']
    ),
    rest=st.binary(max_size=40),
)
def test_no_reply_can_raise(opening: bytes, rest: bytes) -> None:
    fields = read_publish_ack(opening + rest)
    assert fields is None or fields.code is None or fields.code >= 10_000
