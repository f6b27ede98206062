"""An owner's limit in the metadata of a consumer has an invalid value."""

from __future__ import annotations

from exporter.audit.facts.owner_limits import CONSUMER, unreadable_limit_check

CHECK = unreadable_limit_check("consumer-limit-unreadable", CONSUMER)
