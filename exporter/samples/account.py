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
    yield from _on_servers(system, accounts)


def _on_servers(system: str, accounts: Sequence[Account]) -> Iterator[Column]:
    found = [(account.name, one) for account in accounts for one in account.servers]
    heads = [label_head(_SERVER, (system, name, one.server)) for name, one in found]
    rows = [one for _, one in found]
    yield Column(catalog.ACCOUNT_CONNECTIONS, heads, (r.connections for r in rows))
    yield Column(catalog.ACCOUNT_LEAF_NODES, heads, (r.leaf_nodes for r in rows))
    yield Column(catalog.ACCOUNT_SUBSCRIPTIONS, heads, (r.subscriptions for r in rows))
    yield Column(catalog.ACCOUNT_SLOW_CONSUMERS, heads, (r.slow_consumers for r in rows))
    traffic = [one.traffic for one in rows]
    received = (each.received_messages for each in traffic)
    yield Column(catalog.ACCOUNT_RECEIVED_MESSAGES, heads, received)
    yield Column(catalog.ACCOUNT_RECEIVED_BYTES, heads, (each.received_bytes for each in traffic))
    yield Column(catalog.ACCOUNT_SENT_MESSAGES, heads, (each.sent_messages for each in traffic))
    yield Column(catalog.ACCOUNT_SENT_BYTES, heads, (each.sent_bytes for each in traffic))


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
