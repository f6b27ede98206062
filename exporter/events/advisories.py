"""Decodes JetStream advisories, `$JS.EVENT.ADVISORY.>`. Pure; nothing here raises."""

from __future__ import annotations

import msgspec
from msgspec import Struct

PREFIX = "$JS.EVENT.ADVISORY."

# Subjects after the prefix, without stream and consumer names.
_SUBJECT_TOKENS = (
    "STREAM.CREATED", "STREAM.UPDATED", "STREAM.DELETED",
    "STREAM.SNAPSHOT_CREATE", "STREAM.SNAPSHOT_COMPLETE",
    "STREAM.RESTORE_CREATE", "STREAM.RESTORE_COMPLETE",
    "STREAM.LEADER_ELECTED", "STREAM.QUORUM_LOST", "STREAM.BATCH_ABANDONED",
    "CONSUMER.CREATED", "CONSUMER.DELETED",
    "CONSUMER.PAUSE", "CONSUMER.PINNED", "CONSUMER.UNPINNED",
    "CONSUMER.LEADER_ELECTED", "CONSUMER.QUORUM_LOST",
    "CONSUMER.MAX_DELIVERIES", "CONSUMER.MSG_NAKED", "CONSUMER.MSG_TERMINATED",
    "DOMAIN.LEADER_ELECTED",
    "SERVER.OUT_OF_STORAGE", "SERVER.REMOVED", "SERVER.META_RESCUE",
    "API.LIMIT_REACHED",
)  # fmt: skip
_KIND_OF = {
    tuple(tokens.split(".")): tokens.lower().replace(".", "_") for tokens in _SUBJECT_TOKENS
}

NAKED = "consumer_msg_naked"
TERMINATED = "consumer_msg_terminated"
EXHAUSTED = "consumer_max_deliveries"
RESTORED = "stream_restore_complete"
QUORUM_LOST = "stream_quorum_lost"

OTHER = "other"  # an advisory of a server newer than this list
MALFORMED = "malformed"  # a payload without the fields that its subject requires
OTHER_DOMAIN = "other_domain"  # received over a leaf node, from a domain that is not monitored here

# The values of the label `kind` of advisories_total.
KINDS = (*_KIND_OF.values(), OTHER, MALFORMED, OTHER_DOMAIN)

# The server sends these to the account and, with the same id, to the system account.
SENT_TWICE = frozenset({
    "stream_leader_elected", QUORUM_LOST, "stream_batch_abandoned",
    "consumer_leader_elected", "consumer_quorum_lost",
})  # fmt: skip

CLIENT, LIMITS, DELETED, UNKNOWN = "client", "limits", "deleted", "unknown"
# The values of the label `by` of consumer_terms_total.
TERM_CAUSES = (CLIENT, LIMITS, DELETED, UNKNOWN)
TERM_REASONS_SINCE = (2, 10, 4)
_CAUSE_OF = {
    # A consumer's new leader found that limits had removed the message meanwhile.
    "Message deleted by stream limits": LIMITS,
    # The message left the stream while it was unacked. Servers send the same text for a delete and
    # for a limit.
    "Unacknowledged message was deleted": DELETED,
}


class Advisory(Struct, frozen=True, gc=False):
    kind: str
    id: str = ""
    account: str = ""  # only in copies for the system account
    domain: str = ""
    stream: str = ""
    consumer: str = ""
    stream_seq: int = 0
    reason: str = ""


class _Payload(Struct, gc=False):
    id: str = ""
    account: str = ""
    domain: str = ""
    stream: str = ""
    consumer: str = ""
    stream_seq: int = 0
    reason: str = ""


_decode = msgspec.json.Decoder(_Payload).decode


def read_advisory(subject: str, payload: bytes) -> Advisory:
    """A payload that cannot be decoded gives an advisory of the kind MALFORMED."""
    kind = kind_of(subject)
    try:
        fields = _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Advisory(MALFORMED)
    if not _is_whole(kind, fields):
        return Advisory(MALFORMED)
    return Advisory(
        kind,
        fields.id,
        fields.account,
        fields.domain,
        fields.stream,
        fields.consumer,
        fields.stream_seq,
        fields.reason,
    )


def kind_of(subject: str) -> str:
    tokens = subject.removeprefix(PREFIX).split(".", 2)
    return _KIND_OF.get(tuple(tokens[:2]), OTHER)


def term_cause(reason: str, *, reasons_reported: bool) -> str:
    """What terminated a message; `reasons_reported`: the server sends a text for its own reasons."""
    known = _CAUSE_OF.get(reason)
    if known is not None:
        return known
    # Servers send the known texts; any other text, or none, comes from the client.
    return CLIENT if reason or reasons_reported else UNKNOWN


def _is_whole(kind: str, fields: _Payload) -> bool:
    if kind.startswith("stream_"):
        return bool(fields.stream)
    if kind.startswith("consumer_"):
        needs_seq = kind in (EXHAUSTED, NAKED, TERMINATED)
        return bool(fields.stream and fields.consumer) and (fields.stream_seq > 0 or not needs_seq)
    return True
