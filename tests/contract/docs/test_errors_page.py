"""The page of error texts: what it quotes is what a real server says, and what it denies is not."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import pytest
from nats.aio.client import Client
from nats.errors import NoRespondersError
from support.collected import over_all
from support.documents import Document, read_document
from support.nats.cli_commands import nats_cli, programs_called
from support.nats.servers import NEWEST, NOJS, NatsServer, connected, default_options
from support.waiting import until

from exporter import catalog

PAGE: Final = read_document("docs/errors.md")
REAL: Final = ("Publishing", "Consuming", "Creating and changing", "Cluster", "Connecting")
# What people search for most, and what the pages that they find get wrong.
SEARCHED: Final = (
    "wrong last sequence: N", "wrong last sequence", "duplicate: true", "consumer not found",
    "duplicate message id is in process", "consumer is stalled", "consumer is missing",
    "max deliver is required to be > length of backoff values", "ConsumerNotBound",
    "sequence mismatch for consumer at sequence N (M sequences behind)", "window overflow",
)  # fmt: skip
CODE: Final = re.compile(r"`([^`]+)`")
SECOND: Final = 10**9
# Where a runbook lets somebody on call answer for a worker.
ANSWER: Final = "$JS.ACK.STREAM.CONSUMER.1.SEQUENCE.1.1.0"


def entries() -> dict[str, str]:
    """The text below each error's heading, by heading."""
    found: dict[str, str] = {}
    for section in REAL:
        for entry in re.split(r"^### ", PAGE.section(section).text, flags=re.MULTILINE)[1:]:
            heading, _, text = entry.partition("\n")
            found[heading] = text
    return found


def quoted() -> dict[int, list[str]]:
    """The texts that the page gives for each code."""
    found: dict[int, list[str]] = {}
    for heading in entries():
        waiting: list[str] = []
        for text, code in re.findall(r"`([^`]+)`|\((\d{5})\)", heading):
            if text:
                waiting.append(text)
            else:
                found[int(code)] = waiting
                waiting = []
    return found


def is_quoted(code: int, said: str) -> bool:
    """N, ID and X in a quoted text stand for anything."""
    patterns = (re.sub(r"\b(N|ID|X)\b", ".*", re.escape(text)) for text in quoted()[code])
    return any(re.fullmatch(pattern, said) for pattern in patterns)


@over_all(SEARCHED, "docs/errors.md lacks what people search for")
def test_what_people_search_for_is_on_the_page(text: str) -> None:
    assert f"`{text}`" in PAGE.text


@over_all(entries(), "correct the entry in docs/errors.md")
def test_an_error_names_its_metric_and_its_runbook(heading: str) -> None:
    text = entries()[heading]
    metrics = re.search(r"\*\*Metric:\*\*\s+(.*?)\*\*Runbook:\*\*", text, re.DOTALL)
    assert metrics, "names its metric before its runbook"
    named = [word for word in CODE.findall(metrics[1]) if word.startswith("streamgauge_")]
    assert named
    assert set(named) <= set(catalog.BY_NAME)
    (link,) = Document(PAGE.path, text.rpartition("**Runbook:**")[2]).links()
    assert link.startswith("runbooks/JetStream")


def test_every_link_leads_to_a_file() -> None:
    for link in PAGE.links():
        assert (PAGE.path.parent / link).is_file(), link


def denied_and_advised() -> tuple[list[str], list[str]]:
    """Commands of the first column, which must not exist, and all others, which must."""
    table = PAGE.section("Commands that do not exist").text
    rows = re.findall(r"^\| (`nats [^|]*) \| (.*) \|$", table, re.MULTILINE)
    denied = [command for left, _ in rows for command in CODE.findall(left)]
    everywhere = [piece for piece in CODE.findall(PAGE.prose()) if piece.startswith("nats ")]
    return denied, [command for command in everywhere if command not in denied]


def test_commands_that_are_denied_do_not_exist() -> None:
    denied, _ = denied_and_advised()
    assert len(denied) >= 6
    for command in denied:
        (words,) = programs_called(command)
        assert nats_cli().complaint(words[1:]) is not None, command


def test_commands_that_are_advised_exist() -> None:
    _, advised = denied_and_advised()
    assert len(advised) >= 10
    for command in advised:
        (words,) = programs_called(command)
        assert nats_cli().complaint(words[1:]) is None, command


def test_texts_that_are_denied_are_none_of_the_real_ones() -> None:
    rows = re.findall(
        r"^\| (`[^|]*) \|", PAGE.section("Texts that do not exist").text, re.MULTILINE
    )
    denied = {text for row in rows for text in CODE.findall(row)}
    real = {text for heading in entries() for text in CODE.findall(heading)}
    assert len(denied) >= 8
    assert not denied & real


@pytest.fixture
async def server() -> AsyncIterator[NatsServer]:
    async with NatsServer(NEWEST, default_options()) as running:
        yield running


class Account:
    """One account of a real server, asked without a library between: we want its own words."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def api(self, subject: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        payload = b"" if body is None else json.dumps(body).encode()
        response = await self.client.request(f"$JS.API.{subject}", payload, timeout=5)
        said: dict[str, Any] = json.loads(response.data)
        return said

    async def stream(self, name: str, **changes: object) -> dict[str, Any]:
        shape = {"name": name, "subjects": [f"{name}.>"], "storage": "memory", "max_bytes": -1}
        verb = "UPDATE" if "sealed" in changes else "CREATE"
        return await self.api(f"STREAM.{verb}.{name}", {**shape, **changes})

    async def consumer(self, stream: str, name: str, **changes: object) -> dict[str, Any]:
        config = {"durable_name": name, "ack_policy": "explicit", **changes}
        body = {"stream_name": stream, "config": config}
        return await self.api(f"CONSUMER.DURABLE.CREATE.{stream}.{name}", body)

    async def publish(self, subject: str, body: bytes = b"x", **headers: str) -> dict[str, Any]:
        named = {f"Nats-{name.replace('_', '-')}": value for name, value in headers.items()}
        response = await self.client.request(subject, body, headers=named or None, timeout=5)
        said: dict[str, Any] = json.loads(response.data)
        return said


def refusal(response: Mapping[str, Any]) -> tuple[int, str]:
    error = response["error"]
    return error["err_code"], error["description"]


async def test_refused_publishes_are_quoted_as_the_server_says_them(server: NatsServer) -> None:
    async with connected(server) as client:
        account = Account(client)
        await account.stream("P", max_msg_size=200)
        await account.publish("P.a")
        refused = [
            await account.publish("P.a", Expected_Last_Sequence="99"),
            await account.publish("P.a", Expected_Last_Subject_Sequence="99"),
            await account.publish("P.a", Expected_Last_Msg_Id="other"),
            await account.publish("P.a", Expected_Stream="OTHER"),
            await account.publish("P.a", b"x" * 300),
            await full_stream(account, max_msgs=1),
            await full_stream(account, max_bytes=40),
            await full_stream(account, max_msgs_per_subject=1, discard_new_per_subject=True),
        ]
        await account.stream("P", sealed=True, discard="new", deny_delete=True, deny_purge=True)
        refused.append(await account.publish("P.b"))
    codes = [code for code, said in map(refusal, refused) if is_quoted(code, said)]
    assert codes == [10071, 10071, 10070, 10060, 10054, 10077, 10077, 10077, 10109]


async def full_stream(account: Account, **limit: object) -> dict[str, Any]:
    await account.stream("FULL", discard="new", **limit)
    await account.publish("FULL.a")
    refused = await account.publish("FULL.a")
    await account.api("STREAM.DELETE.FULL")
    return refused


async def test_a_duplicate_is_no_error(server: NatsServer) -> None:
    async with connected(server) as client:
        account = Account(client)
        await account.stream("D")
        first = await account.publish("D.a", Msg_Id="one")
        again = await account.publish("D.a", Msg_Id="one")
    assert again["seq"] == first["seq"]
    assert again["duplicate"] is True
    assert "error" not in again


async def test_a_publish_to_no_stream_has_no_responders(server: NatsServer) -> None:
    async with connected(server) as client:
        with pytest.raises(NoRespondersError, match="no responders available for request"):
            await client.request("nobody.listens", b"", timeout=5)
    assert "### `no responders available for request`" in PAGE.text


async def test_refused_requests_are_quoted_as_the_server_says_them(server: NatsServer) -> None:
    steps = [SECOND, 2 * SECOND, 3 * SECOND]
    async with connected(server) as client:
        account = Account(client)
        await account.stream("C", max_consumers=2)
        await account.consumer("C", "late", deliver_policy="new", max_waiting=10)
        await account.consumer("C", "second")
        await account.stream("W", retention="workqueue")
        await account.consumer("W", "one", filter_subject="W.a")
        refused = [
            await account.api("CONSUMER.INFO.C.absent"),
            await account.api("STREAM.INFO.ABSENT"),
            await account.api("STREAM.MSG.GET.C", {"seq": 7}),
            await account.consumer("W", "two", max_deliver=2, backoff=steps),
            await account.consumer("W", "two"),
            await account.consumer("W", "two", filter_subject="W.*"),
            await account.consumer("W", "two", filter_subject="W.b", deliver_policy="new"),
            await account.consumer("C", "late", deliver_policy="all", max_waiting=10),
            await account.consumer("C", "late", deliver_policy="new", max_waiting=20),
            await account.consumer("C", "late", deliver_policy="new", ack_policy="all"),
            await account.api("CONSUMER.RESET.C.late", {"seq": 1}),
            await account.consumer("C", "third"),
            await account.stream("Y", max_age=60 * SECOND, duplicate_window=120 * SECOND),
            await account.stream("Z", misspelt=True),
        ]
        equal = await account.consumer(
            "W", "equal", filter_subject="W.c", max_deliver=3, backoff=steps
        )
    codes = [code for code, said in map(refusal, refused) if is_quoted(code, said)]
    assert codes == [
        10014, 10059, 10037, 10116, 10099, 10100, 10101, 10012, 10012, 10012, 10204, 10026, 10052,
        10025,
    ]  # fmt: skip
    assert "error" not in equal, "as the page says of 10116"


async def test_an_account_without_jetstream_is_told_so(server: NatsServer) -> None:
    async with connected(server, NOJS) as client:
        code, said = refusal(await Account(client).api("INFO"))
    assert code == 10039
    assert is_quoted(code, said)


async def given_up(account: Account, stream: str) -> dict[str, Any]:
    """A consumer whose only message ran out of deliveries; the server notices at the next pull."""
    await account.stream(stream, retention="workqueue")
    await account.consumer(stream, "c", max_deliver=2, ack_wait=SECOND // 10)
    await account.publish(f"{stream}.a")

    async def pulled() -> dict[str, Any]:
        await pull(account, stream)
        return await account.api(f"CONSUMER.INFO.{stream}.c")

    def is_given_up(info: dict[str, Any]) -> bool:
        return (info["delivered"]["consumer_seq"], info["num_ack_pending"]) == (2, 0)

    return await until(pulled, is_given_up, "the message is not given up")


async def pull(account: Account, stream: str) -> list[str]:
    """Subjects of the messages delivered now; none is answered."""
    inbox = account.client.new_inbox()
    subscription = await account.client.subscribe(inbox)
    await account.client.publish(
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.c", b'{"batch": 1, "no_wait": true}', reply=inbox
    )
    response = await subscription.next_msg(timeout=5)
    await subscription.unsubscribe()
    return [response.subject] if response.reply else []


async def test_a_higher_max_deliver_brings_nothing_back(server: NatsServer) -> None:
    """The page says so against common advice."""
    async with connected(server) as client:
        account = Account(client)
        await given_up(account, "UP")
        edited = await account.consumer("UP", "c", max_deliver=9, ack_wait=SECOND // 10)
        assert edited["config"]["max_deliver"] == 9
        assert await pull(account, "UP") == []
        state = (await account.api("STREAM.INFO.UP"))["state"]
    assert state["messages"] == 1, "and it is kept, on a work queue too"


@pytest.mark.parametrize("runbook", ["ConsumerMessagesAbandoned", "ConsumerAckFloorStalled"])
def test_the_runbooks_answer_in_the_workers_place_by_the_subject_tested_here(runbook: str) -> None:
    assert ANSWER in read_document(f"docs/runbooks/JetStream{runbook}.md").text


async def test_an_answer_in_the_workers_place_ends_a_message_given_up(server: NatsServer) -> None:
    subject = ANSWER
    for name, value in (("STREAM", "END"), ("CONSUMER", "c"), ("SEQUENCE", "1")):
        subject = subject.replace(name, value)
    async with connected(server) as client:
        account = Account(client)
        assert (await given_up(account, "END"))["num_redelivered"] == 1
        await client.publish(subject, b"+ACK")

        async def left() -> tuple[int, int]:
            consumer = await account.api("CONSUMER.INFO.END.c")
            stream = await account.api("STREAM.INFO.END")
            return consumer["num_redelivered"], stream["state"]["messages"]

        await until(left, lambda found: found == (0, 0), "it is still there")


async def test_an_interest_stream_without_consumers_acknowledges_and_keeps_nothing(
    server: NatsServer,
) -> None:
    async with connected(server) as client:
        account = Account(client)
        await account.stream("I", retention="interest")
        acknowledged = await account.publish("I.a")
        state = (await account.api("STREAM.INFO.I"))["state"]
    assert acknowledged["seq"] == state["last_seq"] == 1
    assert state["messages"] == 0
