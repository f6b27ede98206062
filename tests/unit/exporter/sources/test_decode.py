"""Where the spelling of servers ends: unlimited, unknown and never become None, faults are named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from support.examples import examples

from exporter.errors import MalformedResponseError
from exporter.model import NO_THRESHOLDS
from exporter.sources.decoding import wire, wire_servers
from exporter.sources.decoding.decode import (
    consumer_config,
    consumer_from_wire,
    has_leader,
    known_time,
    limit,
    origins,
    peers,
    positive,
    read_response,
    seconds,
    stream_config,
    stream_from_wire,
)
from exporter.sources.decoding.owner_thresholds import owner_thresholds
from exporter.sources.decoding.row_by_row import read_jsz, read_jsz_response, read_list
from exporter.sources.decoding.wire import (
    WireCluster,
    WireConsumer,
    WireConsumerConfig,
    WireConsumerList,
    WireOrigin,
    WirePeer,
    WireState,
    WireStream,
    WireStreamConfig,
    WireStreamList,
)

UNLIMITED = 2**64 - 1
WIRE_TYPES = [
    kind
    for kind in {**vars(wire), **vars(wire_servers)}.values()
    if isinstance(kind, type) and issubclass(kind, Struct) and kind is not Struct
]

# --- traps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("written", "meant"), [(-1, None), (0, None), (UNLIMITED, None), (7, 7)])
def test_a_limit_that_is_not_set_is_none(written: int, meant: int | None) -> None:
    assert positive(written) == meant


@pytest.mark.parametrize(("written", "meant"), [(-1, None), (UNLIMITED, None), (0, 0), (7, 7)])
def test_an_account_may_be_allowed_nothing(written: int, meant: int | None) -> None:
    assert limit(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"), [(0, None), (-1, None), (1_500_000_000, 1.5), (1, 1e-9)]
)
def test_a_duration_of_nanoseconds_becomes_seconds(written: int, meant: float | None) -> None:
    assert seconds(written) == meant


def test_the_first_day_of_the_first_year_is_never() -> None:
    assert known_time(datetime(1, 1, 1, tzinfo=UTC)) is None
    assert known_time(None) is None
    timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    assert known_time(timestamp) == timestamp


def test_a_stream_without_limits_has_none() -> None:
    bare = WireStreamConfig(max_consumers=-1, max_msgs=-1, max_bytes=-1, max_msgs_per_subject=-1)
    config = stream_config("ORDERS", bare)
    assert (config.max_consumers, config.max_messages, config.max_bytes) == (None, None, None)
    assert (config.max_messages_per_subject, config.max_age_seconds) == (None, None)
    assert config.duplicate_window_seconds is None
    assert (config.compression, config.replicas) == ("none", 1)


@pytest.mark.parametrize(
    ("name", "kind"), [("KV_settings", "kv"), ("OBJ_files", "object"), ("ORDERS", "stream")]
)
def test_buckets_are_recognised_by_their_names(name: str, kind: str) -> None:
    assert stream_config(name, WireStreamConfig()).kind == kind


def test_a_consumer_without_acks_has_no_ack_limits() -> None:
    wire_config = WireConsumerConfig(ack_policy="none", ack_wait=10**9, max_ack_pending=1000)
    config = consumer_config(wire_config)
    assert (config.ack_wait_seconds, config.max_ack_pending) == (None, None)


def test_a_push_consumer_has_no_limit_of_waiting_pulls() -> None:
    pushed = WireConsumerConfig(deliver_subject="push.here", max_waiting=512)
    assert (consumer_config(pushed).kind, consumer_config(pushed).max_waiting) == ("push", None)


def test_one_filter_or_several_are_filters() -> None:
    assert consumer_config(WireConsumerConfig(filter_subject="a")).filters == ("a",)
    assert consumer_config(WireConsumerConfig(filter_subjects=["a", "b"])).filters == ("a", "b")
    assert consumer_config(WireConsumerConfig()).filters == ()


@pytest.mark.parametrize(
    "own",
    [
        WireConsumerConfig(direct=True),
        WireConsumerConfig(sourcing=True),
        WireConsumerConfig(ack_policy="flow_control"),
    ],
)
def test_consumers_that_the_server_made_for_itself_are_internal(own: WireConsumerConfig) -> None:
    assert consumer_config(own).internal
    assert not consumer_config(WireConsumerConfig(ack_policy="explicit")).internal


@pytest.mark.parametrize(("active", "known"), [(0, None), (2**63 - 1, None), (5 * 10**8, 0.5)])
def test_a_peer_without_contact_has_no_age(active: int, known: float | None) -> None:
    assert peers([WirePeer(name="n2", active=active)])[0].active_seconds == known


def test_an_origin_without_contact_has_no_age() -> None:
    silent = WireStream(sources=[WireOrigin(name="GONE", active=-1)])
    contacted = WireStream(mirror=WireOrigin(name="ORDERS", active=2 * 10**9))
    assert origins(silent)[0].active_seconds is None
    assert origins(contacted)[0].active_seconds == 2.0


def test_an_empty_stream_has_no_first_and_last_message() -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    state = WireState(messages=0, first_ts=long_ago, last_ts=long_ago)
    row = stream_from_wire("APP", WireStream(name="S", state=state), None, "n1")
    assert (row.first_time, row.last_time) == (None, None)


def test_a_stand_alone_server_leads_what_it_shows() -> None:
    assert has_leader(None)
    assert has_leader(WireCluster(leader="n1"))
    assert not has_leader(WireCluster(name="C1"))


def test_the_remaining_pause_is_known_only_while_paused() -> None:
    paused = WireConsumer(name="c", paused=True, pause_remaining=3 * 10**9)
    over = WireConsumer(name="c", paused=False, pause_remaining=3 * 10**9)
    left = [
        consumer_from_wire("A", "S", row, None, "n1", 1).pause_remaining_seconds
        for row in (paused, over)
    ]
    assert left == [3.0, None]


# --- limits of the owner --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text", "number"),
    [
        ("msgs-warn", "1000", 1000.0),
        ("msgs-warn", " 1000 ", 1000.0),
        ("lag-critical", "0", 0.0),
        ("enabled", "true", 1.0),
        ("enabled", "False", 0.0),
        ("pinned", "1", 1.0),
        ("last-ack-critical", "1h30m", 5400.0),
        ("seen-critical", "500ms", 0.5),
        ("peer-seen-critical", "2d", 172800.0),
        ("last-delivery-critical", "1.5s", 1.5),
        ("something-new", "90s", 90.0),
    ],
)
def test_a_limit_of_the_owner_is_a_number(key: str, text: str, number: float) -> None:
    read = owner_thresholds({"io.nats.monitor." + key: text})
    assert read.limits == ((key, number),)
    assert read.unreadable == ()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("msgs-warn", ""),
        ("msgs-warn", "many"),
        ("msgs-warn", "-1"),
        ("msgs-warn", "1.5"),
        ("msgs-warn", "9" * 400),
        ("enabled", "2"),
        ("enabled", "yes, please"),
        ("last-ack-critical", "5"),
        ("last-ack-critical", "1h 30m"),
        ("last-ack-critical", "h"),
        ("last-ack-critical", "9" * 400 + "h"),
    ],
)
def test_what_cannot_be_read_is_named_and_has_no_number(key: str, text: str) -> None:
    read = owner_thresholds({"io.nats.monitor." + key: text})
    assert read.limits == ()
    assert read.unreadable == (key,)


def test_other_metadata_is_no_limit() -> None:
    assert owner_thresholds({"owner": "billing", "_nats.level": "1"}) is NO_THRESHOLDS


# --- anything at all ------------------------------------------------------------------------------

NAMES = sorted({name for kind in WIRE_TYPES for name in kind.__struct_fields__})
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from([-1, UNLIMITED, "0001-01-01T00:00:00Z", "2026-02-30T00:00:00Z"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def read_or_refuse(kind: type[Struct], data: bytes) -> None:
    """Whatever else is raised fails the test."""
    try:
        response = read_response(kind, data, "a response")
    except MalformedResponseError as error:
        assert error.reason == "malformed"  # noqa: PT017  both ways are good, a third is not
    else:
        assert type(response) is kind


@pytest.mark.parametrize("kind", WIRE_TYPES)
@settings(max_examples=examples(20))  # of each kind, and there are dozens
@given(data=st.data())
def test_any_json_is_a_response_or_malformed(kind: type[Struct], data: st.DataObject) -> None:
    shaped = st.dictionaries(st.sampled_from(kind.__struct_fields__), VALUES, max_size=5)
    read_or_refuse(kind, json.dumps(data.draw(shaped | VALUES)).encode())


@given(st.binary())
def test_any_bytes_are_a_response_or_malformed(data: bytes) -> None:
    read_or_refuse(WireStream, data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b'{"name":"\\ud800"}',
        b'{"unknown":' + b"[" * 100_000,
        b'{"state":{"messages":"three"}}',
        b'{"state":{"messages":-1}}',
    ],
    ids=["nothing", "null", "half a character", "a deep hole", "a word for a number", "negative"],
)
def test_such_a_response_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedResponseError, match="the response"):
        read_response(WireStream, data, "the response")


def test_bytes_that_are_not_utf_8_are_replaced_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    read = read_response(WireStream, b'{"name":"a\xffb","state":{"messages":3}}', "STREAM.INFO.a")
    assert (read.name, read.state.messages) == ("a\N{REPLACEMENT CHARACTER}b", 3)
    [record] = caplog.records
    assert "not UTF-8" in record.getMessage()
    assert vars(record)["fields"] == {"request": "STREAM.INFO.a"}


def test_a_malformed_response_names_the_place() -> None:
    with pytest.raises(MalformedResponseError, match=r"jsz: .*\$\.state\.messages"):
        read_response(WireStream, b'{"state":{"messages":"three"}}', "jsz")


def values_of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Everything that a server of any version could write there."""
    plain: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**63), UNLIMITED) | st.sampled_from([-1, 0, UNLIMITED]),
        float: st.floats(),
        bool: st.booleans(),
        str: st.text(max_size=6),
        datetime: st.datetimes(timezones=st.just(UTC)),
        NoneType: st.none(),
    }
    if hint in plain:
        return plain[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (UnionType, Union):  # the second with an annotated type
        return st.one_of([values_of_type(each) for each in inner])
    if origin is list:
        return st.lists(values_of_type(inner[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(values_of_type(inner[0]), values_of_type(inner[1]), max_size=2)
    return st.deferred(lambda: structs(hint))


def structs(kind: type[Struct]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    hints.pop("consumer_detail", None)  # rows of their own
    return st.builds(kind, **{name: values_of_type(hint) for name, hint in hints.items()})


@given(structs(WireStreamConfig))
def test_any_configuration_of_a_stream_can_be_decoded(wire_config: WireStreamConfig) -> None:
    config = stream_config("S", wire_config)
    limits = [config.max_bytes, config.max_messages, config.max_consumers, config.max_age_seconds]
    assert all(most is None or 0 < most < 2**63 for most in limits)


@given(structs(WireConsumerConfig))
def test_any_configuration_of_a_consumer_can_be_decoded(wire_config: WireConsumerConfig) -> None:
    config = consumer_config(wire_config)
    limits = [config.max_deliver, config.max_ack_pending, config.max_waiting]
    assert all(most is None or 0 < most < 2**63 for most in limits)


@given(structs(WireStream))
def test_any_stream_can_be_decoded(row: WireStream) -> None:
    found = stream_from_wire("APP", row, None, "n1")
    assert found.up
    ages = [origin.active_seconds for origin in found.origins]
    assert all(age is None or age >= 0 for age in ages)


@given(structs(WireConsumer))
def test_any_consumer_can_be_decoded(row: WireConsumer) -> None:
    found = consumer_from_wire("APP", "S", row, None, "n1", 1)
    assert found.name == row.name
    assert all(age.active_seconds is None or age.active_seconds > 0 for age in found.replicas)


ROW_READERS = {
    "streams": lambda data: read_list(WireStreamList, data, "a response"),
    "consumers": lambda data: read_list(WireConsumerList, data, "a response"),
    "account_details": lambda data: read_jsz(data, "a response"),
    "data": lambda data: read_jsz_response(data, "a response"),
}


@pytest.mark.parametrize("key", ROW_READERS)
@settings(max_examples=examples(50))
@given(data=st.data())
def test_any_row_is_read_or_malformed(key: str, data: st.DataObject) -> None:
    stream = st.dictionaries(st.sampled_from(["name", "state", "consumer_detail"]), VALUES)
    account = st.fixed_dictionaries({"stream_detail": st.lists(stream | VALUES, max_size=3)})
    rows = st.lists(account | stream | VALUES, max_size=3)
    page = {key: data.draw(rows)}
    if key == "data":
        page = {key: {"account_details": page[key]}}  # type: ignore[dict-item]
    try:
        ROW_READERS[key](json.dumps(page).encode())
    except MalformedResponseError as error:
        assert error.reason == "malformed"  # noqa: PT017  both ways are good, a third is not
