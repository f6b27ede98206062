"""Pages of JSZ over many accounts, complete on every server version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from exporter.sources.decoding.wire import WireJsz

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


async def read_all_accounts(
    request: RequestJsz, limit: int, *, config: bool, consumers: bool = True
) -> dict[str, list[WireJsz]]:
    """The pages of each server that responded to every request."""
    pages: dict[str, list[WireJsz]] = {}
    offset, most = 0, 1
    while offset < most:
        got = await request(JszRequest(config, offset, limit, consumers=consumers))
        pages = _joined(pages, got, first=offset == 0)
        offset += limit
        most = max((page.account_total for page in got.values()), default=0)
    for name in await _missed_accounts(request, pages):
        got = await request(JszRequest(config, account=name, consumers=consumers))
        pages = _joined(pages, got, first=False)
    return pages


def _joined(
    pages: dict[str, list[WireJsz]], got: dict[str, WireJsz], *, first: bool
) -> dict[str, list[WireJsz]]:
    """All pages of a server or none: with a part of them, the rest would look leaderless."""
    return {
        server: [*pages.get(server, ()), page]
        for server, page in got.items()
        if first or server in pages
    }


async def _missed_accounts(request: RequestJsz, pages: dict[str, list[WireJsz]]) -> list[str]:
    """Before 2.11.2 servers do not sort the first page, so some accounts are on no page."""
    seen = {server: _names(*kept) for server, kept in pages.items()}
    if all(len(seen[server]) >= kept[0].account_total for server, kept in pages.items()):
        return []
    named = await request(JszRequest(names_only=True, limit=_ALL_NAMES))
    missed = (_names(page) - seen[server] for server, page in named.items() if server in seen)
    return sorted(set().union(*missed))


def _names(*pages: WireJsz) -> set[str]:
    """As requests name accounts: in operator mode by key, not by name."""
    details = (detail for page in pages for detail in page.account_details or ())
    return {detail.id or detail.name for detail in details}
