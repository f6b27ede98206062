"""Columns of the account metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exporter import catalog
from exporter.exposition.text_format import Column, label_head
from exporter.model import Account

_TIER = catalog.ACCOUNT_STREAMS.labels
_SERVER = catalog.ACCOUNT_SLOW_CONSUMERS.labels


def account_columns(system: str, accounts: Sequence[Account]) -> Iterator[Column]:
    yield from _usage(system, accounts)
    heads = [label_head(catalog.ACCOUNT, (system, account.name)) for account in accounts]
    yield Column(catalog.ACCOUNT_API_REQUESTS, heads, (a.api_requests for a in accounts))
    yield Column(catalog.ACCOUNT_API_ERRORS, heads, (a.api_errors for a in accounts))
    slow = [
        (label_head(_SERVER, (system, account.name, server)), number)
        for account in accounts
        for server, number in account.slow_consumers
    ]
    yield Column(catalog.ACCOUNT_SLOW_CONSUMERS, (h for h, _ in slow), (n for _, n in slow))


def _usage(system: str, accounts: Sequence[Account]) -> Iterator[Column]:
    used = [(account, usage) for account in accounts for usage in account.usage]
    heads = [label_head(_TIER, (system, account.name, usage.tier)) for account, usage in used]
    rows = [usage for _, usage in used]
    yield Column(catalog.ACCOUNT_STORAGE_USED_BYTES, heads, (u.storage_used for u in rows))
    yield Column(catalog.ACCOUNT_STORAGE_RESERVED_BYTES, heads, (u.storage_reserved for u in rows))
    yield Column(catalog.ACCOUNT_STORAGE_LIMIT_BYTES, heads, (u.storage_limit for u in rows))
    yield Column(catalog.ACCOUNT_MEMORY_USED_BYTES, heads, (u.memory_used for u in rows))
    yield Column(catalog.ACCOUNT_MEMORY_RESERVED_BYTES, heads, (u.memory_reserved for u in rows))
    yield Column(catalog.ACCOUNT_MEMORY_LIMIT_BYTES, heads, (u.memory_limit for u in rows))
    yield Column(catalog.ACCOUNT_STREAMS, heads, (u.streams for u in rows))
    yield Column(catalog.ACCOUNT_CONSUMERS, heads, (u.consumers for u in rows))
    yield Column(catalog.ACCOUNT_STREAMS_LIMIT, heads, (u.streams_limit for u in rows))
    yield Column(catalog.ACCOUNT_CONSUMERS_LIMIT, heads, (u.consumers_limit for u in rows))
