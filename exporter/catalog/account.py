"""Accounts."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define
from exporter.catalog.labels import ACCOUNT
from exporter.metric import Kind, Origin, Subject

_EVENT = Origin.EVENT

_account = partial(define, subject=Subject.ACCOUNT, labels=(*ACCOUNT, "tier"))

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

# JSZ calls an account's limit "reserved", and each server reports the usage of the whole system.

ACCOUNT_STORAGE_USED_BYTES = _account("account_storage_used_bytes",
    "File storage that the account uses in the whole system, replicas included. "
    "The label tier is empty where limits are not tiered.",
    source="account info: storage, tiers; jsz: account_details[].storage")
ACCOUNT_STORAGE_RESERVED_BYTES = _account("account_storage_reserved_bytes",
    "File storage reserved for the account's streams by their max_bytes, used or not. "
    "Absent where the response does not contain it.",
    source="account info: reserved_storage, tiers")
ACCOUNT_STORAGE_LIMIT_BYTES = _account("account_storage_limit_bytes",
    "File storage that the account may use. Absent when unlimited.",
    source="account info: limits.max_storage, tiers; jsz: account_details[].reserved_storage")
ACCOUNT_MEMORY_USED_BYTES = _account("account_memory_used_bytes",
    "Memory storage that the account uses in the whole system, replicas included. "
    "The label tier is empty where limits are not tiered.",
    source="account info: memory, tiers; jsz: account_details[].memory")
ACCOUNT_MEMORY_RESERVED_BYTES = _account("account_memory_reserved_bytes",
    "Memory storage reserved for the account's streams by their max_bytes, used or not. "
    "Absent where the response does not contain it.",
    source="account info: reserved_memory, tiers")
ACCOUNT_MEMORY_LIMIT_BYTES = _account("account_memory_limit_bytes",
    "Memory storage that the account may use. Absent when unlimited.",
    source="account info: limits.max_memory, tiers; jsz: account_details[].reserved_memory")
ACCOUNT_STREAMS = _account("account_streams",
    "Streams of the account.",
    source="account info: streams, tiers")
ACCOUNT_CONSUMERS = _account("account_consumers",
    "Consumers of the account, over all its streams.",
    source="account info: consumers, tiers")
ACCOUNT_STREAMS_LIMIT = _account("account_streams_limit",
    "Streams that the account may have. Absent when unlimited.",
    source="account info: limits.max_streams, tiers")
ACCOUNT_CONSUMERS_LIMIT = _account("account_consumers_limit",
    "Consumers that the account may have. Absent when unlimited.",
    source="account info: limits.max_consumers, tiers")
ACCOUNT_API_REQUESTS = _account("account_api_requests_total",
    "JetStream API requests of the account, the exporter's own included. "
    "Publishes and acknowledgements are not API requests.",
    labels=ACCOUNT, source="account info: api.total")
ACCOUNT_API_ERRORS = _account("account_api_errors_total",
    "JetStream API requests of the account that failed. "
    "Rejected publishes do not count.",
    labels=ACCOUNT, source="account info: api.errors")
_on_server = partial(define, subject=Subject.ACCOUNT, labels=(*ACCOUNT, "server"))

# Only servers that have connections of the account report it.
ACCOUNT_CONNECTIONS = _on_server("account_connections",
    "Client connections of the account to this server now, leaf nodes not included.",
    source="account statz: account_statz[].conns")
ACCOUNT_LEAF_NODES = _on_server("account_leaf_nodes",
    "Leaf node connections of the account to this server now.",
    source="account statz: account_statz[].leafnodes")
ACCOUNT_SUBSCRIPTIONS = _on_server("account_subscriptions",
    "Subscriptions of the account on this server now. Absent on servers before 2.10.",
    source="account statz: account_statz[].num_subscriptions")
ACCOUNT_RECEIVED_MESSAGES = _on_server("account_received_messages_total",
    "Messages that this server received from the account's clients and leaf nodes since it started.",
    source="account statz: account_statz[].received.msgs")
ACCOUNT_RECEIVED_BYTES = _on_server("account_received_bytes_total",
    "Bytes of the messages that this server received from the account since it started.",
    source="account statz: account_statz[].received.bytes")
ACCOUNT_SENT_MESSAGES = _on_server("account_sent_messages_total",
    "Messages that this server sent to the account's clients and leaf nodes since it started.",
    source="account statz: account_statz[].sent.msgs")
ACCOUNT_SENT_BYTES = _on_server("account_sent_bytes_total",
    "Bytes of the messages that this server sent to the account since it started.",
    source="account statz: account_statz[].sent.bytes")
ACCOUNT_SLOW_CONSUMERS = _account("account_slow_consumers_total",
    "Client connections of the account that this server closed because they did not read fast "
    "enough. Not related to JetStream consumers.",
    labels=(*ACCOUNT, "server"), source="account statz: account_statz[].slow_consumers")
ADVISORIES = _account("advisories_total",
    "JetStream advisories received, by kind: the last tokens of their subject. They are delivered "
    "at most once and only while subscribed: see advisories_connected_timestamp_seconds.",
    labels=(*ACCOUNT, "kind"), origin=_EVENT)
ACCOUNT_CONFIG_FINDING = _account("account_config_finding",
    "1 for each audit check that this account fails. "
    "The label check is the permanent code of the check.",
    labels=(*ACCOUNT, "check", "severity"), kind=Kind.INFO, origin=Origin.DERIVED)
