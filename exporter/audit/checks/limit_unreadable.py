"""An owner's limit in the metadata of a stream has an invalid value."""

from __future__ import annotations

from exporter.audit.facts.owner_limits import STREAM, unreadable_limit_check

CHECK = unreadable_limit_check("limit-unreadable", STREAM)
