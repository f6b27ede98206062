"""Audit contexts for tests of checks, with rows, history and test cases."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from support.exporter.models import (
    NOW,
    consumer,
    consumer_config,
    server,
    snapshot,
    stream,
    stream_config,
)

from exporter.audit.check import Check, Finding, Unknown
from exporter.audit.context import AuditContext, MessageSample
from exporter.audit.registry import all_checks
from exporter.model import (
    Account,
    AccountUsage,
    Consumer,
    MetaGroup,
    Server,
    Stream,
    StreamConfig,
)
from exporter.subscription_counts import StreamKey

SECONDS_BETWEEN = 60.0


@dataclass(frozen=True)
class KnownHistory:
    """Returns the same number for every asset, as if from rollups."""

    numbers: Mapping[str, float] = field(default_factory=dict)

    def p99_time_to_ack(self, key: object) -> float | None:
        return self.numbers.get("p99_time_to_ack")

    def mean_time_to_ack(self, key: object) -> float | None:
        return self.numbers.get("mean_time_to_ack")

    def peak_ack_pending(self, key: object) -> float | None:
        return self.numbers.get("peak_ack_pending")

    def p95_ack_pending(self, key: object) -> float | None:
        return self.numbers.get("p95_ack_pending")

    def worst_lag(self, key: object) -> float | None:
        return self.numbers.get("worst_lag")

    def worst_backlog(self, key: object) -> float | None:
        return self.numbers.get("worst_backlog")

    def redelivery_ratio(self, key: object) -> float | None:
        return self.numbers.get("redelivery_ratio")

    def recreated(self, key: object) -> float | None:
        return self.numbers.get("recreated")

    def publish_rate(self, key: object) -> float | None:
        return self.numbers.get("publish_rate")

    def duplicates(self, key: object) -> float | None:
        return self.numbers.get("duplicates")

    def stored(self, key: object) -> float | None:
        return self.numbers.get("stored")

    def consumer_growth(self, key: object) -> float | None:
        return self.numbers.get("consumer_growth")


@dataclass(frozen=True)
class Case:
    """A context with a violation of a check, and a near miss."""

    code: str
    found: AuditContext
    nearest: AuditContext
    evidence: str  # a part of it, with the numbers


def audit_context(
    *rows: Stream | Consumer | Server,
    accounts: tuple[Account, ...] = (),
    meta: MetaGroup | None = None,
    history: Mapping[str, float] | None = None,
    **changes: Any,
) -> AuditContext:
    return AuditContext(
        snapshot=snapshot(*rows, accounts=accounts, meta=meta),
        now=NOW,
        history=None if history is None else KnownHistory(history),
        **changes,
    )


def polled_twice(before: AuditContext, after: AuditContext) -> AuditContext:
    return replace(after, earlier=before, seconds=SECONDS_BETWEEN)


def consumer_context(
    config: Mapping[str, Any] | None = None,
    stream_is: Mapping[str, Any] | None = None,
    history: Mapping[str, float] | None = None,
    **row: Any,
) -> AuditContext:
    """One consumer on one stream. `stream_is`: configuration and state of the stream."""
    worker = consumer(config=consumer_config(**(config or {})), **row)
    return audit_context(stream_row(**(stream_is or {})), worker, history=history)


def stream_row(**changes: Any) -> Stream:
    """Takes fields of the configuration and of the state; `state_` prefixes shared names."""
    settings = frozenset(StreamConfig.__struct_fields__)
    config = {key: value for key, value in changes.items() if key in settings}
    row = {key.removeprefix("state_"): changes[key] for key in changes if key not in settings}
    return stream(**row, config=stream_config(**config))


def stream_context(
    *others: Stream | Consumer | Server,
    history: Mapping[str, float] | None = None,
    sample: Mapping[StreamKey, MessageSample] | None = None,
    **changes: Any,
) -> AuditContext:
    return audit_context(stream_row(**changes), *others, history=history, messages=sample)


def account_context(**usage: Any) -> AuditContext:
    return audit_context(accounts=(Account("APP", (AccountUsage(**{"tier": "", **usage}),)),))


def minimal_context() -> AuditContext:
    """Rows with as little data as possible: of related values only one, or none."""
    silent = {"ack_wait_seconds": None, "max_ack_pending": None, "max_waiting": None}
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"durable": False, "filters": ("nothing",)},
        {"ack_policy": "none", "kind": "push"},
        {"max_deliver": 3},
        {"max_ack_pending": 2000, "backoff_seconds": (60.0,)},
    )
    streams = [
        stream(name, config=stream_config(**settings))
        for name, settings in (
            ("plain", {"discard": "new"}),
            ("interest", {"retention": "interest", "max_age_seconds": 60.0}),
            ("workqueue", {"retention": "workqueue", "max_messages": 5}),
            ("aged", {"max_age_seconds": 60.0, "replicas": 3}),
            ("bounded", {"max_bytes": 5, "duplicate_window_seconds": 3600.0}),
            ("KV_b", {"kind": "kv", "duplicate_window_seconds": 3600.0}),
        )
    ]
    workers = [
        consumer(
            f"c{number}",
            stream=name,
            paused=True,
            config=consumer_config(**{**silent, **kind}),
        )
        for name in ("lost", *(row.name for row in streams))
        for number, kind in enumerate(kinds)
    ]
    halves = ({}, {"storage_reserved": 2 << 30}, {"storage_max": 100}, {"storage_used": 95})
    servers = [
        server(f"n{place}", offset=None, jetstream=True, **half)
        for place, half in enumerate((*halves, {"memory_used": 5}, {"memory_reserved": 2 << 30}))
    ]
    usages = [AccountUsage(tier=""), AccountUsage(tier="", streams=9, consumers=9)]
    limits = AccountUsage(tier="", streams_limit=9, consumers_limit=9, storage_limit=5)
    return audit_context(
        *streams,
        stream("unread", config=None),
        *workers,
        *servers,
        accounts=(Account("APP", (*usages, limits), 1000), Account("OTHER", (), None, 1000)),
        meta=MetaGroup(leader="n1"),
    )


def half_histories() -> list[KnownHistory]:
    """Histories with a single known number."""
    methods = [name for name in vars(KnownHistory) if not name.startswith("_")]
    return [KnownHistory({name: 1e9}) for name in methods if name != "numbers"]


def check_of(code: str) -> Check:
    return next(check for check in all_checks() if check.code == code)


def found_by(code: str, where: AuditContext) -> list[Finding]:
    return [one for one in check_of(code).find(where) if isinstance(one, Finding)]


def unknown_by(code: str, where: AuditContext) -> list[Unknown]:
    return [one for one in check_of(code).find(where) if isinstance(one, Unknown)]


def cases_by_code(*tables: Iterable[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for table in tables:
        for case in table:
            found.setdefault(case.code, []).append(case)
    return found
