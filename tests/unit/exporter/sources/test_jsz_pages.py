"""Pages of JSZ: read by what came, compared with the total of accounts, never endless."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from exporter.errors import RequestError
from exporter.sources.decoding.wire_servers import WireAccountDetail, WireJsz
from exporter.sources.servers.jsz_pages import AccountPages, JszRequest, read_all_accounts

ONE, TWO = "server-1", "server-2"
Got = dict[str, WireJsz]


def names(count: int) -> list[str]:
    return [f"A{number:03}" for number in range(count)]


@dataclass
class Servers:
    """Servers with these accounts; `change` may alter each response."""

    accounts: dict[str, list[str]]
    page: int = 1000
    change: Callable[[JszRequest, Got], Got] = lambda _, got: got
    requests: list[JszRequest] = field(default_factory=list)

    async def request(self, request: JszRequest) -> Got:
        self.requests.append(request)
        assert len(self.requests) < 50, "endless"
        return self.change(request, {key: self._page(key, request) for key in self.accounts})

    def _page(self, server: str, request: JszRequest) -> WireJsz:
        known = self.accounts[server]
        size = request.limit if request.names_only else min(self.page, request.limit)
        listed = (
            [request.account] if request.account in known else []
        ) if request.account else known[request.offset : request.offset + size]  # fmt: skip
        return WireJsz(
            account_details=[WireAccountDetail(each) for each in listed], total=len(known)
        )

    @property
    def offsets(self) -> list[int]:
        return [each.offset for each in self.requests if not each.account and not each.names_only]


async def read(servers: Servers, limit: int = 4) -> AccountPages:
    return await read_all_accounts(servers.request, limit, config=False)


def accounts(read: AccountPages, server: str = ONE) -> set[str]:
    return {detail.name for page in read.pages[server] for detail in page.account_details or ()}


async def test_every_page_is_read_with_the_fewest_requests() -> None:
    servers = Servers({ONE: names(10), TWO: names(3)})
    whole = await read(servers)
    assert (accounts(whole), accounts(whole, TWO)) == (set(names(10)), set(names(3)))
    assert whole.problem({}) is None
    assert servers.offsets == [0, 4, 8]
    assert len(servers.requests) == 3


async def test_pages_that_come_short_are_followed_by_what_came() -> None:
    servers = Servers({ONE: names(10)}, page=3)
    assert accounts(await read(servers)) == set(names(10))
    assert servers.offsets == [0, 3, 6, 9]


async def test_an_account_that_never_comes_makes_the_list_incomplete() -> None:
    def without(_: JszRequest, got: Got) -> Got:
        page = got[ONE]
        page.account_details = [each for each in page.account_details or () if each.name != "A005"]
        return got

    short = await read(Servers({ONE: names(10)}, change=without))
    problem = short.problem({ONE: "n1"})
    assert accounts(short) == set(names(10)) - {"A005"}
    assert problem is not None
    assert (problem.reason, problem.detail) == ("partial", "n1: 9 of 10 accounts were received")


@pytest.mark.parametrize("total", [10**15, 11])
async def test_a_total_that_is_never_reached_ends_the_list(total: int) -> None:
    def promise(_: JszRequest, got: Got) -> Got:
        got[ONE].total = total
        return got

    servers = Servers({ONE: names(10)}, change=promise)
    problem = (await read(servers)).problem({})
    assert problem is not None
    assert (problem.reason, problem.detail) == (
        "partial", f"10 of {total} accounts were received",
    )  # fmt: skip
    assert len(servers.requests) < 10


async def test_a_negative_total_is_partial() -> None:
    def deny(_: JszRequest, got: Got) -> Got:
        got[ONE].total = -1
        return got

    problem = (await read(Servers({ONE: names(3)}, change=deny))).problem({})
    assert problem is not None
    assert problem.reason == "partial"


async def test_a_repeated_page_ends_the_list() -> None:
    def repeat(request: JszRequest, got: Got) -> Got:
        first = [WireAccountDetail(name) for name in names(4)]
        return {ONE: WireJsz(account_details=first, total=10)}

    servers = Servers({ONE: names(10)}, change=repeat)
    problem = (await read(servers)).problem({})
    assert problem is not None
    assert problem.detail == "4 of 10 accounts were received"
    assert len(servers.requests) == 3


async def test_pages_before_a_failure_are_kept() -> None:
    def fail(request: JszRequest, got: Got) -> Got:
        if request.offset:
            raise RequestError("timeout", "jsz: no response in time")
        return got

    part = await read(Servers({ONE: names(10), TWO: names(3)}, change=fail))
    assert accounts(part) == set(names(4))
    assert set(part.incomplete) == {ONE}
    problem = part.problem({ONE: "n1", TWO: "n2"})
    assert problem is not None
    assert problem.reason == "timeout"
    assert "n1: 4 of 10 accounts were received" in problem.detail


@pytest.mark.parametrize("reason", ["size", "disconnected"])
async def test_without_a_first_page_or_with_too_large_ones_it_fails(reason: str) -> None:
    def fail(request: JszRequest, got: Got) -> Got:
        if request.offset or reason != "size":
            raise RequestError(reason, "jsz")
        return got

    with pytest.raises(RequestError):
        await read(Servers({ONE: names(10)}, change=fail))


async def test_a_server_that_misses_a_page_keeps_the_others() -> None:
    def lose(request: JszRequest, got: Got) -> Got:
        if request.offset or request.names_only or request.account:
            del got[ONE]
        return got

    part = await read(Servers({ONE: names(10), TWO: names(10)}, change=lose))
    assert (accounts(part), accounts(part, TWO)) == (set(names(4)), set(names(10)))
    assert set(part.incomplete) == {ONE}
    problem = part.problem({ONE: "n1", TWO: "n2"})
    assert problem is not None
    assert problem.reason == "timeout"


async def test_an_account_created_between_two_pages_is_no_difference() -> None:
    servers = Servers({ONE: names(10)})

    def create(request: JszRequest, got: Got) -> Got:
        if request.offset == 4 and "A0001" not in servers.accounts[ONE]:
            servers.accounts[ONE].insert(0, "A0001")
        return got

    servers.change = create
    whole = await read(servers)
    assert whole.problem({}) is None
    assert accounts(whole) == {*names(10), "A0001"}
