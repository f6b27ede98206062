"""An owner's limit in the metadata of a stream has an unknown key."""

from __future__ import annotations

from exporter.audit.facts.owner_limits import STREAM, unknown_limit_check

CHECK = unknown_limit_check("limit-unknown", STREAM)
