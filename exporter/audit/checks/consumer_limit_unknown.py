"""An owner's limit in the metadata of a consumer has an unknown key."""

from __future__ import annotations

from exporter.audit.facts.owner_limits import CONSUMER, unknown_limit_check

CHECK = unknown_limit_check("consumer-limit-unknown", CONSUMER)
