"""Subscriptions of all servers -> counts by stream and consumer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.sources.decoding.wire_servers import WireAccountDetail
from exporter.sources.subsz.rows import LedStream, ServerRows
from exporter.subscription_counts import ConsumerKey, Counters, SubscriptionCounts


def account_id(account: WireAccountDetail) -> str:
    return account.id or account.name


def counts_of(read: Sequence[ServerRows], *, complete: bool) -> SubscriptionCounts:
    names = {account_id(one): one.name for rows in read for one in rows.accounts}
    acks: dict[ConsumerKey, Counters] = {}
    pulls: dict[ConsumerKey, Counters] = {}
    listeners: dict[str, set[str]] = {}
    whole = {
        name
        for account, name in names.items()
        if complete and all(rows.covers(account) for rows in read)
    }
    for rows in read:
        for found, kept in zip(rows.consumers(), (acks, pulls), strict=True):
            for (account, stream, consumer), counters in found.items():
                key = (names.get(account, account), stream, consumer)
                kept[key] = kept.get(key, ()) + counters
        by_server = rows.listeners()
        for account, subjects in by_server.by_account.items():
            listeners.setdefault(names.get(account, account), set()).update(subjects)
        if by_server.imported:
            whole.clear()
    return SubscriptionCounts(
        streams={
            stream.key: rows.stream_observation(stream, cid) for rows, stream, cid in _owned(read)
        },
        acks={key: counters for key, counters in acks.items() if counters},
        pulls={key: counters for key, counters in pulls.items() if counters},
        advisory_listeners={account: frozenset(found) for account, found in listeners.items()},
        whole_accounts=frozenset(whole),
    )


def _owned(read: Sequence[ServerRows]) -> list[tuple[ServerRows, LedStream, int]]:
    return [
        (rows, stream, rows.owners[stream.key])
        for rows in read
        for stream in rows.led
        if stream.key in rows.owners
    ]
