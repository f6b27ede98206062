"""Whose subscriptions are whose, in lists that real servers cannot be made to give at will."""

from __future__ import annotations

import pytest

from exporter.sources.decoding.wire import WireCluster, WireState, WireStream
from exporter.sources.subsz.rows import LedStream, ServerRows, matches_exhausted
from exporter.sources.subsz.wire import SubszRequest, WireSubscription
from exporter.subscription_counts import EXPORTER_GROUP

STREAM = LedStream(
    account="app",
    account_id="AKEY",
    name="ORDERS",
    subjects=frozenset({"orders.>", "returns"}),
    sourced=False,
    wire=WireStream(name="ORDERS", state=WireState(last_seq=40)),
)
SOURCED = LedStream("app", "AKEY", "ORDERS", STREAM.subjects, True, STREAM.wire)


def sub(cid: int, sid: int, subject: str, msgs: int = 0, **more: str) -> WireSubscription:
    return WireSubscription(
        more.get("account", "AKEY"), subject, more.get("qgroup", ""), str(sid), msgs, cid
    )


def server_rows(*rows: WireSubscription, account: str = "") -> ServerRows:
    found = ServerRows("n1", "N1", [STREAM], [], {account: list(rows)})
    found.index()
    return found


OWN = (sub(12, 1, "orders.>", 100), sub(12, 2, "returns", 5))


@pytest.mark.parametrize(
    ("others", "stream", "expected"),
    [
        pytest.param((), STREAM, {12}, id="alone"),
        pytest.param((sub(20, 1, "orders.>"),), STREAM, {12}, id="a client on one subject"),
        pytest.param(
            (sub(20, 1, "orders.>"), sub(20, 2, "returns", qgroup="q")),
            STREAM, {12}, id="a client with a queue group",
        ),
        pytest.param(
            (sub(20, 1, "orders.>"), sub(20, 2, "returns"), sub(20, 3, "_INBOX.x.*")),
            STREAM, {12}, id="a client with other subscriptions",
        ),
        pytest.param(
            (sub(20, 1, "orders.>"), sub(20, 2, "returns")), STREAM, {12, 20},
            id="a client without other subscriptions",
        ),
        pytest.param(
            (sub(20, 1, "orders.>", account="OTHER"), sub(20, 2, "returns", account="OTHER")),
            STREAM, {12}, id="a client of another account",
        ),
        pytest.param(
            (sub(12, 3, "$JS.API.DIRECT.GET.ORDERS", qgroup="_sys_"),
             sub(12, 4, "$JS.API.DIRECT.GET.ORDERS.>", qgroup="_sys_")),
            STREAM, {12}, id="a stream with direct get",
        ),
        pytest.param(
            (sub(12, 3, "$JS.API.DIRECT.GET.ORDERS2"),), STREAM, set(), id="no connection is the stream's",
        ),
        pytest.param(
            (sub(12, 3, "_INBOX.y"),), SOURCED, {12}, id="a stream that also listens to sources",
        ),
    ],
)  # fmt: skip
def test_a_streams_own_connection_subscribes_only_to_its_subjects(
    others: tuple[WireSubscription, ...], stream: LedStream, expected: set[int]
) -> None:
    assert server_rows(*OWN, *others).candidates(stream) == expected


COPY, TWIN = sub(12, 1, "exported.>", 7), sub(12, 1, "orders.>", 7)


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        pytest.param({"": [*OWN]}, {("1", ""): 100, ("2", ""): 5}, id="no copy"),
        pytest.param(
            {"": [*OWN, COPY]}, {("1", ""): 100, ("1", "exported.>"): 7, ("2", ""): 5},
            id="on another subject",
        ),
        pytest.param(
            {"": [*OWN, TWIN]}, {("1", "*"): 107, ("2", ""): 5},
            id="on the same subject, in one list of all accounts",
        ),
        pytest.param(
            {"AKEY": [*OWN], "OTHER": [TWIN]},
            {("1", ""): 100, ("1", "orders.>"): 7, ("2", ""): 5},
            id="on the same subject, in the list of the other account",
        ),
        pytest.param(
            {"": [*OWN, sub(12, 9, "elsewhere", 1000)]}, {("1", ""): 100, ("2", ""): 5},
            id="its other subscriptions do not count",
        ),
    ],
)  # fmt: skip
def test_copies_in_other_accounts_are_counted_by_themselves(
    lists: dict[str, list[WireSubscription]], expected: dict[tuple[str, str], int]
) -> None:
    rows = ServerRows("n1", "N1", [STREAM], [], lists)
    rows.index()
    observation = rows.stream_observation(STREAM, 12)
    assert {who[2:]: got for who, got in observation.counters} == expected
    assert {who[:2] for who, _ in observation.counters} == {("N1", 12)}
    assert (observation.leader, observation.last_seq) == ("n1", 40)


GROUPED = WireStream(name="ORDERS", cluster=WireCluster(raft_group="S-R3F-abc"))


@pytest.mark.parametrize(
    ("wire", "queues", "waits"),
    [
        pytest.param(STREAM.wire, None, None, id="not known"),
        pytest.param(STREAM.wire, [], False, id="nothing waits"),
        pytest.param(STREAM.wire, ["[ACC:AKEY] stream 'ORDERS' messages"], True, id="publishes"),
        pytest.param(STREAM.wire, ["[ACC:AKEY] stream 'ORDERS2' messages"], False, id="another's"),
        pytest.param(
            STREAM.wire, ["[ACC:OTHER] stream 'ORDERS' messages"], False, id="a namesake's"
        ),
        pytest.param(STREAM.wire, ["[ACC:AKEY] stream 'ORDERS' sendQ"], False, id="deliveries"),
        pytest.param(GROUPED, ["[ACC:AKEY] RAFT 'S-R3F-abc' committedEntry"], True, id="its group"),
        pytest.param(GROUPED, ["[ACC:AKEY] RAFT 'S-R3F-abc' entry"], True, id="its proposals"),
        pytest.param(GROUPED, ["[ACC:AKEY] RAFT 'S-R3F-xyz' entry"], False, id="another group"),
        pytest.param(GROUPED, ["[ACC:AKEY] RAFT 'S-R3F-abc' vreq"], False, id="votes"),
        pytest.param(STREAM.wire, ["[ACC:AKEY] RAFT 'S-R3F-xyz' entry"], True, id="some group"),
        pytest.param(STREAM.wire, ["[ACC:AKEY] RAFT 'C-R3F-xyz' entry"], False, id="a consumer's"),
    ],
)
def test_whether_received_messages_still_wait(
    wire: WireStream, queues: list[str] | None, waits: bool | None
) -> None:
    rows = server_rows(*OWN)
    rows.queues = queues
    led = LedStream("app", "AKEY", "ORDERS", STREAM.subjects, False, wire)
    assert rows.stream_observation(led, 12).in_queue is waits


def test_both_forms_of_acks_are_one_number() -> None:
    acks, pulls = server_rows(
        sub(15, 1, "$JS.ACK.ORDERS.w.*.*.*.*.*", 4),
        sub(15, 2, "$JS.ACK._.xNZj6HOx.ORDERS.w.*.*.*.*.>", 3),
        sub(15, 3, "$JS.API.CONSUMER.MSG.NEXT.ORDERS.w", 2),
        sub(15, 4, "$JS.API.CONSUMER.RESET.ORDERS.w", 1),
        sub(20, 1, "$JS.ACK.>", 1000),
        sub(20, 2, "$JS.ACK.ORDERS.>", 1000),
        sub(20, 3, "$JS.API.CONSUMER.MSG.NEXT.>", 1000),
    ).consumers()
    key = ("AKEY", "ORDERS", "w")
    assert acks == {key: ((("N1", 15, "1", ""), 4), (("N1", 15, "2", ""), 3))}
    assert pulls[key] == ((("N1", 15, "3", ""), 2),)


def test_a_client_that_listens_to_pulls_is_not_the_consumer() -> None:
    own = (
        sub(15, 1, "$JS.ACK.ORDERS.w.*.*.*.*.*", 4),
        sub(15, 3, "$JS.API.CONSUMER.MSG.NEXT.ORDERS.w", 2),
    )
    client = sub(20, 1, "$JS.API.CONSUMER.MSG.NEXT.ORDERS.w", 99)
    _, pulls = server_rows(*own, client).consumers()
    assert pulls == {("AKEY", "ORDERS", "w"): ((("N1", 15, "3", ""), 2),)}
    _, unsure = server_rows(own[1], client).consumers()
    assert unsure == {}


@pytest.mark.parametrize(
    ("subject", "matches"),
    [
        ("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.ORDERS.w", True),
        ("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.*.*", True),
        ("$JS.EVENT.ADVISORY.>", True),
        ("$JS.*.*.CONSUMER.*.*.w", True),
        (">", True),
        ("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES", False),
        ("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.ORDERS.w.more", False),
        ("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.>", False),
        ("orders.>", False),
    ],
)
def test_which_subjects_match_the_max_deliveries_advisory(subject: str, matches: bool) -> None:
    assert matches_exhausted(subject) is matches


ADVISORIES = "$JS.EVENT.ADVISORY.>"


@pytest.mark.parametrize(
    ("groups", "captured"),
    [
        pytest.param([""], True, id="a client alone"),
        pytest.param(["workers"], True, id="clients that share"),
        pytest.param([f"{EXPORTER_GROUP}1a2b"], False, id="an exporter"),
        pytest.param([f"{EXPORTER_GROUP}1a2b", f"{EXPORTER_GROUP}3c4d"], False, id="two of them"),
        pytest.param([f"{EXPORTER_GROUP}1a2b", ""], True, id="an exporter and a client"),
    ],
)
def test_exporters_capture_nothing(groups: list[str], captured: bool) -> None:
    rows = server_rows(
        *(sub(20 + place, 1, ADVISORIES, qgroup=group) for place, group in enumerate(groups))
    )
    assert rows.listeners().by_account == ({"AKEY": {ADVISORIES}} if captured else {})


def test_a_listener_in_another_account_is_known_only_in_the_list_of_one_account() -> None:
    imported = sub(20, 1, "app.advisories.>", account="OTHER")
    copy = sub(20, 1, ADVISORIES, account="OTHER")
    together = server_rows(imported, copy).listeners()
    assert (together.by_account, together.imported) == ({}, True)
    alone = server_rows(copy, account="AKEY").listeners()
    assert (alone.by_account, alone.imported) == ({"AKEY": {ADVISORIES}}, False)


@pytest.mark.parametrize(
    ("wanted", "payload", "query"),
    [
        (SubszRequest(), b"{}", {}),
        (SubszRequest("A"), b'{"account":"A"}', {"acc": "A"}),
        (
            SubszRequest("A", rows=True),
            b'{"account":"A","subscriptions":true,"limit":100000000}',
            {"acc": "A", "subs": "1", "limit": "100000000"},
        ),
    ],
)
def test_the_same_request_over_nats_and_http(
    wanted: SubszRequest, payload: bytes, query: dict[str, str]
) -> None:
    assert (wanted.payload(), wanted.query()) == (payload, query)
