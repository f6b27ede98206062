"""Paged lists: read by what came, compared with their total, never endless."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from exporter.errors import RequestError
from exporter.sources.decoding.row_by_row import UnreadRow
from exporter.sources.jetstream_api.list_pages import ListPage, read_pages
from exporter.sources.request_context import RequestContext, SkippedRequests

LIMIT = 256
Page = ListPage[int]


def names(count: int) -> list[str]:
    return [f"S{number:04}" for number in range(count)]


def page_of(listed: list[str], total: int, limit: int = LIMIT) -> Page:
    return ListPage(total, limit, tuple((name, 0) for name in listed))


@dataclass
class Server:
    """Responds like a server; `change` may alter each response, `between` the list after it."""

    listed: list[str]
    page: int = LIMIT
    change: Callable[[int, Page], Page] = lambda _, page: page
    between: Callable[[Server], None] = lambda _: None
    offsets: list[int] = field(default_factory=list)

    async def request(self, offset: int) -> Page:
        self.offsets.append(offset)
        assert len(self.offsets) < 50, "endless"
        rows = self.listed[offset : offset + self.page]
        page = self.change(offset, page_of(rows, len(self.listed)))
        self.between(self)
        return page


async def read(server: Server, seconds: float = 60.0) -> tuple[set[str], RequestError | None]:
    context = RequestContext(time.monotonic() + seconds, SkippedRequests())
    found: set[str] = set()
    try:
        async for page in read_pages(server.request, "LIST", context):
            found |= page.names()
    except RequestError as error:
        return found, error
    return found, None


@pytest.mark.parametrize(
    ("count", "offsets"),
    [(0, [0]), (3, [0]), (255, [0]), (257, [0, 255]), (600, [0, 255, 510])],
)
async def test_a_whole_list_is_read_with_the_fewest_requests(
    count: int, offsets: list[int]
) -> None:
    server = Server(names(count))
    assert await read(server) == (set(names(count)), None)
    assert server.offsets == offsets


async def test_pages_that_come_short_are_followed_by_what_came() -> None:
    server = Server(names(600), page=96)
    assert await read(server) == (set(names(600)), None)
    assert server.offsets == [0, 95, 190, 285, 380, 475, 570]


async def test_rows_that_never_come_make_the_list_partial() -> None:
    def without_five(offset: int, page: Page) -> Page:
        kept = [name for name, _ in page.rows if not "S0100" <= name < "S0105"]
        return page_of(kept, page.total)

    found, error = await read(Server(names(600), change=without_five))
    assert len(found) == 595
    assert error is not None
    assert (error.reason, error.detail) == ("partial", "LIST: 595 of 600 rows were received")


async def test_missing_and_offline_names_count_as_rows() -> None:
    async def request(_: int) -> Page:
        rows = (("A", 0), ("", 0), ("", 0))  # a server lists a missing one with zeroes
        return ListPage(3, LIMIT, rows, frozenset({"B", "C"}), frozenset({"C"}))

    context = RequestContext(time.monotonic() + 60, SkippedRequests())
    pages = [page async for page in read_pages(request, "LIST", context)]
    assert len(pages) == 1


async def test_malformed_rows_count_as_rows() -> None:
    async def request(_: int) -> Page:
        return ListPage(3, LIMIT, (("A", 0),), unread=(UnreadRow("B", ""), UnreadRow("", "")))

    context = RequestContext(time.monotonic() + 60, SkippedRequests())
    assert len([page async for page in read_pages(request, "LIST", context)]) == 1


async def test_a_repeated_page_ends_the_list() -> None:
    server = Server(names(600), change=lambda _, page: page_of(names(256), 600))
    found, error = await read(server)
    assert (len(found), len(server.offsets)) == (256, 4)
    assert error is not None
    assert error.detail == "LIST: 256 of 600 rows were received"


@pytest.mark.parametrize("total", [10**15, 2**63, 10**400, 601])
async def test_a_total_that_is_never_reached_ends_the_list(total: int) -> None:
    server = Server(names(600), change=lambda _, page: page_of([n for n, _ in page.rows], total))
    found, error = await read(server)
    assert (len(found), len(server.offsets)) == (600, 8)
    assert error is not None
    assert error.detail == f"LIST: 600 of {total} rows were received"


async def test_a_negative_total_is_partial() -> None:
    server = Server(names(3), change=lambda _, page: page_of(names(3), -1))
    found, error = await read(server)
    assert len(found) == 3
    assert error is not None
    assert (error.reason, error.detail) == ("partial", "LIST: 3 of -1 rows were received")


async def test_new_rows_without_end_stop_at_the_deadline() -> None:
    async def request(offset: int) -> Page:
        await asyncio.sleep(0.02)
        return page_of([f"N{offset + number}" for number in range(LIMIT)], 10**15)

    server = Server([])
    server.request = request  # type: ignore[method-assign]
    found, error = await read(server, seconds=0.2)
    assert 0 < len(found) < 50 * LIMIT
    assert error is not None
    assert error.reason == "timeout"
    assert error.detail.endswith(f"{len(found)} of {10**15} rows were received")


async def test_pages_before_a_failure_are_kept() -> None:
    def fail(offset: int, page: Page) -> Page:
        if offset:
            raise RequestError("timeout", "no response")
        return page

    found, error = await read(Server(names(600), change=fail))
    assert len(found) == 256
    assert error is not None
    assert error.reason == "timeout"
    assert error.detail == "no response; 256 of 600 rows were received"


async def test_a_row_removed_between_two_pages_hides_none() -> None:
    def remove(server: Server) -> None:
        if len(server.offsets) == 1:
            server.listed.remove("S0010")  # S0256 moves to the page that was read before

    found, error = await read(Server(names(600), between=remove))
    assert error is None
    assert found >= set(names(600)) - {"S0010"}


async def test_a_row_removed_while_another_one_is_created_hides_none() -> None:
    def swap(server: Server) -> None:
        if len(server.offsets) == 1:
            server.listed.remove("S0010")
            server.listed.append("T0000")  # so that the total stays

    found, error = await read(Server(names(600), between=swap))
    assert error is None
    assert found >= {*names(600), "T0000"} - {"S0010"}


@pytest.mark.parametrize("page", [3, 40, 256])
async def test_a_first_row_that_comes_and_goes_hides_none(page: int) -> None:
    def come_and_go(server: Server) -> None:
        if server.listed[0] == "A":
            server.listed.pop(0)
        else:
            server.listed.insert(0, "A")

    server = Server(["A", *names(page * 4)], page=page, between=come_and_go)
    found, error = await read(server)
    assert error is None
    assert found >= set(names(page * 4))


async def test_a_row_created_between_two_pages_is_no_difference() -> None:
    def create(server: Server) -> None:
        if len(server.offsets) == 1:
            server.listed.insert(10, "S0009a")

    found, error = await read(Server(names(600), between=create))
    assert error is None
    assert found == {*names(600), "S0009a"}


@pytest.mark.parametrize("step", [1, -1, 3, -3])
async def test_a_list_that_changes_all_the_time_is_not_partial(step: int) -> None:
    def change(server: Server) -> None:
        for number in range(abs(step)):
            if step > 0:
                server.listed.insert(10, f"S0009-{len(server.listed):05}-{number}")
            else:
                server.listed.pop(10)

    _, error = await read(Server(names(1500), between=change))
    assert error is None


async def test_before_2_9_21_a_total_may_count_only_the_rows_of_the_page() -> None:
    server = Server(
        names(600), change=lambda _, page: page_of([n for n, _ in page.rows], len(page.rows))
    )
    assert await read(server) == (set(names(600)), None)
    assert server.offsets == [0, 255, 510]


async def test_behind_its_end_a_cluster_reports_a_total_of_zero() -> None:
    def clustered(_: int, page: Page) -> Page:
        return page if page.rows else page_of([], 0)

    server = Server(names(256), change=clustered)
    assert await read(server) == (set(names(256)), None)
    assert server.offsets == [0, 255]
