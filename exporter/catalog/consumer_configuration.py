"""Consumers: clients, configuration, replicas, the owner's limits."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define
from exporter.catalog.labels import CONSUMER, OWNER_LABELS
from exporter.metric import Kind, Level, Origin, Subject

_FULL = Level.FULL
_DERIVED = Origin.DERIVED
_EVENT = Origin.EVENT

_consumer = partial(define, subject=Subject.CONSUMER, labels=CONSUMER)

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

# --- clients and subscriptions --------------------------------------------------------------------

CONSUMER_ACKS = _consumer("consumer_acks_total",
    "Acknowledgements of all types that the server received for this consumer: ack, nak, in "
    "progress and term. Absent with the account source, and where the request is skipped.",
    level=_FULL, origin=_DERIVED)
CONSUMER_PULLS = _consumer("consumer_pulls_total",
    "Pull requests that the server received for this consumer. A rate of 0 means that no worker "
    "pulls. Absent with the account source, and where the request is skipped.",
    level=_FULL, origin=_DERIVED)
CONSUMER_NAKS = _consumer("consumer_naks_total",
    "Negative acknowledgements (nak) of clients, from advisories. "
    "The series appears with the first event; without advisories it is absent.",
    origin=_EVENT)
CONSUMER_TERMS = _consumer("consumer_terms_total",
    "Messages that were terminated, from advisories: by the client, by stream limits, by a delete "
    "(also by limits while the message was in flight), or unknown where the server gives no "
    "reason. The series appears with the first event.",
    labels=(*CONSUMER, "by"), level=_FULL, origin=_EVENT)
CONSUMER_ACK_SECONDS = _consumer("consumer_ack_seconds",
    "Time from a message's last delivery to its acknowledgement, from the server's ack samples. "
    "It restarts at each redelivery. Only for consumers with sample_freq set.",
    kind=Kind.HISTOGRAM, level=_FULL, origin=_EVENT)
CONSUMER_PAUSED = _consumer("consumer_paused",
    "1 while the consumer is paused, 0 after a pause. A consumer that was never paused has no "
    "series. Messages accumulate during a pause.",
    source="consumer info: paused")
CONSUMER_PAUSE_REMAINING_SECONDS = _consumer("consumer_pause_remaining_seconds",
    "Time until the pause ends. Present only during a pause.",
    level=_FULL, source="consumer info: pause_remaining",
    purpose="For an engineer who wants to know when a paused consumer resumes.")
CONSUMER_PUSH_BOUND = _consumer("consumer_push_bound",
    "1 when a subscriber is bound to the delivery subject of this push consumer, else 0. "
    "Pull consumers have no series.",
    source="consumer info: push_bound")

# --- configuration, replicas, owner's limits ------------------------------------------------------

CONSUMER_MAX_ACK_PENDING = _consumer("consumer_max_ack_pending",
    "Configured limit of unacknowledged messages. Absent when unlimited.",
    source="consumer info: config.max_ack_pending")
CONSUMER_ACK_WAIT_SECONDS = _consumer("consumer_ack_wait_seconds",
    "Configured time after which an unacknowledged message is redelivered. "
    "A backoff replaces it.",
    source="consumer info: config.ack_wait")
CONSUMER_MAX_DELIVER = _consumer("consumer_max_deliver",
    "Configured number of deliveries after which a message is given up. Absent when unlimited.",
    source="consumer info: config.max_deliver")
CONSUMER_MAX_WAITING = _consumer("consumer_max_waiting",
    "Configured limit of waiting pull requests. Pull consumers only; absent when unlimited.",
    level=_FULL, source="consumer info: config.max_waiting")
CONSUMER_BACKOFF_STEPS = _consumer("consumer_backoff_steps",
    "Number of configured waits between redeliveries. Absent when no backoff is set.",
    level=_FULL, source="consumer info: config.backoff")
CONSUMER_RETRY_HORIZON_SECONDS = _consumer("consumer_retry_horizon_seconds",
    "Sum of the waits before the last delivery of a message: how long the server retries before "
    "it gives up. Absent when max_deliver is unlimited.",
    level=_FULL, source="consumer info: config.ack_wait, config.backoff, config.max_deliver")
CONSUMER_REPLICA_LAG = _consumer("consumer_replica_lag",
    "Raft entries that this replica of the consumer is behind, as its leader reports.",
    labels=(*CONSUMER, "server"), level=_FULL,
    source="consumer info: cluster.replicas[].lag",
    purpose="For an operator who checks before a restart that a replica can take over.")
CONSUMER_REPLICA_OFFLINE = _consumer("consumer_replica_offline",
    "1 when the consumer's leader reports this replica as offline, else 0.",
    labels=(*CONSUMER, "server"), level=_FULL,
    source="consumer info: cluster.replicas[].offline")
CONSUMER_THRESHOLD = _consumer("consumer_threshold",
    "A limit that the owner set in the consumer's metadata under io.nats.monitor. The label "
    "limit is the rest of the key; durations are seconds, booleans 0 or 1. "
    "An unreadable value has no series and is counted in poll_errors_total.",
    labels=(*CONSUMER, "limit"), source="consumer info: config.metadata")
CONSUMER_LIMIT_EXCEEDED = _consumer("consumer_limit_exceeded",
    "The value that exceeds the owner's limit of the same name in consumer_threshold. Present only "
    "while it does, not while it is paused, and not in the first 5 minutes of the consumer.",
    labels=(*CONSUMER, "limit"), origin=_DERIVED)
CONSUMER_CONFIG_FINDING = _consumer("consumer_config_finding",
    "1 for each audit check that this consumer's configuration fails. "
    "The label check is the permanent code of the check.",
    labels=(*CONSUMER, "check", "severity"), kind=Kind.INFO, level=_FULL, origin=_DERIVED)
CONSUMER_METADATA_INFO = _consumer("consumer_metadata_info",
    "A value of the consumer's metadata, for the keys that the setting metadata names; the value is "
    "always 1. A change of the metadata starts a new series.",
    labels=(*CONSUMER, "key", "value"), source="consumer info: config.metadata",
    purpose="For own rules and boards that group consumers by what their owners declare.")
CONSUMER_INFO = _consumer("consumer_info",
    "Properties of the consumer as labels; the value is always 1. A leader change or an edit starts "
    "a new series, so join on the identity labels only. The owner's labels are present where the "
    "metadata sets them.",
    labels=(*CONSUMER, "durable", "kind", "ack_policy", "deliver_policy", "replay_policy",
            "filtered", "priority_policy", "flow_control", "leader", "replicas", *OWNER_LABELS),
    source="consumer info: config, cluster")
