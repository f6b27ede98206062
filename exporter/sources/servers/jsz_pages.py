"""Pages of JSZ over many accounts, complete on every server version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from exporter.errors import MalformedResponseError, RequestError
from exporter.sources.decoding.row_by_row import PartlyReadJsz
from exporter.sources.decoding.wire_servers import WireJsz

_ALL_NAMES = 1_000_000  # names alone are small: one page


@dataclass(frozen=True, slots=True)
class JszRequest:
    """A page of accounts with their streams; or one account; or only the names of all accounts."""

    config: bool = False
    offset: int = 0
    limit: int = 0
    account: str = ""
    names_only: bool = False
    consumers: bool = True

    def payload(self) -> bytes:
        request: dict[str, bool | int | str] = {"account": self.account} if self.account else {}
        if not self.account:
            request["accounts"] = True
        if not self.names_only:
            request["streams"] = True
            if self.consumers:
                request["consumer"] = True
        if not self.account:
            request |= {"offset": self.offset, "limit": self.limit}
        if self.config:
            request["config"] = True
        return msgspec.json.encode(request)

    @property
    def is_first(self) -> bool:
        """Whether it can be the only request of a poll."""
        return not (self.offset or self.account or self.names_only)

    def query(self) -> dict[str, str]:
        query = {"acc": self.account} if self.account else {"accounts": "1"}
        if not self.names_only:
            query["streams"] = "1"
            if self.consumers:
                query["consumers"] = "1"
        if not self.account:
            query |= {"offset": str(self.offset), "limit": str(self.limit)}
        if self.config:
            query["config"] = "1"
        return query


# Sends one request; returns the responses by server id.
RequestJsz = Callable[[JszRequest], Awaitable[dict[str, WireJsz]]]


@dataclass(slots=True)
class AccountPages:
    """The pages of each server, and which servers did not list all their accounts."""

    pages: dict[str, list[WireJsz]] = field(default_factory=dict)
    incomplete: dict[str, str] = field(default_factory=dict)  # server id -> what is known of it
    late: bool = False  # a server did not respond to every request
    error: RequestError | None = None  # of a page after the first

    def problem(self, server_names: Mapping[str, str]) -> RequestError | None:
        """Why the lists are not complete; None if they are."""
        details = [
            self._of(server, detail, server_names)
            for server, detail in sorted(self.incomplete.items())
        ]
        if self.error is not None:
            return RequestError(self.error.reason, "; ".join([self.error.detail, *details]))
        partly = [
            (server, page)
            for server, pages in self.pages.items()
            for page in pages
            if isinstance(page, PartlyReadJsz)
        ]
        if details:
            malformed = any(page.detail for _, page in partly)
            reason = "timeout" if self.late else "malformed" if malformed else "partial"
            return RequestError(reason, "; ".join(details))
        unread = [
            self._of(server, detail, server_names)
            for server, page in partly
            for detail in page.unread_details()
        ]
        if unread:
            return MalformedResponseError(f"jsz: malformed: {len(unread)}; first: {unread[0]}")
        return None

    @staticmethod
    def _of(server: str, detail: str, server_names: Mapping[str, str]) -> str:
        return f"{server_names[server]}: {detail}" if server_names else detail


@dataclass(slots=True)
class _Reading:
    request: RequestJsz
    config: bool
    consumers: bool
    read: AccountPages = field(default_factory=AccountPages)
    seen: dict[str, set[str]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    named: dict[str, set[str]] = field(default_factory=dict)

    async def first_pages(self, limit: int) -> None:
        offset: int | None = 0
        while offset is not None:
            got = await self.request(
                JszRequest(self.config, offset, limit, consumers=self.consumers)
            )
            offset = self._add(got, offset)

    def _add(self, got: dict[str, WireJsz], offset: int) -> int | None:
        """The offset of the next page: what the server with the shortest pages has sent."""
        ends = []
        for server, page in got.items():
            names = _names(page)
            if offset and server not in self.seen:
                continue  # it did not respond to the first request: what it leads is unknown
            seen = self.seen.setdefault(server, set())
            is_new = not names <= seen
            end = offset + len(page.account_details or ())
            self._keep(server, page, names)
            if names or not offset:
                self.totals[server] = page.account_total
            # A page without a new name ends the list, whatever total the server reports.
            if is_new and end < page.account_total:
                ends.append(end)
        self._note_late(got)
        return min(ends, default=None)

    def _keep(self, server: str, page: WireJsz, names: set[str]) -> None:
        self.read.pages.setdefault(server, []).append(page)
        self.seen.setdefault(server, set()).update(names)

    def _note_late(self, got: dict[str, WireJsz]) -> None:
        self.read.late |= not self.read.pages.keys() <= got.keys()

    async def missed_accounts(self) -> None:
        """Before 2.11.2 servers do not sort the first page, so some accounts are on no page."""
        if not any(len(self.seen[server]) < total for server, total in self.totals.items()):
            return
        named = await self.request(JszRequest(names_only=True, limit=_ALL_NAMES))
        self._note_late(named)
        self.named = {server: _names(page) for server, page in named.items() if server in self.seen}
        for server in self.named:
            self.totals[server] = named[server].account_total
        missed = (names - self.seen[server] for server, names in self.named.items())
        for name in sorted(set().union(*missed)):
            got = await self.request(
                JszRequest(self.config, account=name, consumers=self.consumers)
            )
            self._note_late(got)
            for server, page in got.items():
                if server in self.seen:
                    self._keep(server, page, _names(page))

    def note_incomplete(self) -> None:
        for server, total in self.totals.items():
            seen, named = self.seen[server], self.named.get(server)
            # Of the names of a moment ago, all must be there: accounts come and go meanwhile.
            short = len(seen) < total if named is None else bool(named - seen)
            if malformed := [
                page.detail
                for page in self.read.pages[server]
                if isinstance(page, PartlyReadJsz) and page.detail
            ]:
                self.read.incomplete[server] = malformed[0]
            elif short or total < 0 or (named is not None and len(named) < total):
                self.read.incomplete[server] = f"{len(seen)} of {total} accounts were received"


async def read_all_accounts(
    request: RequestJsz, limit: int, *, config: bool, consumers: bool = True
) -> AccountPages:
    """The pages of each server that responded to the first request.

    A server whose pages have fewer accounts than its total is requested for the names of all its
    accounts, and for each one that is missing. If some are missing still, its list is incomplete.
    """
    reading = _Reading(request, config, consumers)
    try:
        await reading.first_pages(limit)
        await reading.missed_accounts()
    except RequestError as error:
        # Smaller pages may succeed; without a first page nothing was read.
        if error.reason == "size" or not reading.seen:
            raise
        reading.read.error = error
    reading.note_incomplete()
    return reading.read


def _names(*pages: WireJsz) -> set[str]:
    """As requests name accounts: in operator mode by key, not by name."""
    details = (detail for page in pages for detail in page.account_details or ())
    return {detail.id or detail.name for detail in details}
