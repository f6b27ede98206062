"""The commands of a check with the names of the asset filled in. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from exporter.audit.check import Check, Finding

# Whole words only: subjects of advisories contain the same words.
_PLACEHOLDER = re.compile(r"(?<![\w.$])(STREAM|CONSUMER|ACCOUNT|SERVER|BUCKET)(?![\w.])")
_BUCKETS = ("KV_", "OBJ_")


def commands_for(check: Check, finding: Finding) -> tuple[str, ...]:
    """Placeholders without a known name stay."""
    names = {
        "STREAM": finding.stream,
        "CONSUMER": finding.consumer,
        "ACCOUNT": finding.account,
        "SERVER": finding.server,
        "BUCKET": _bucket(finding.stream),
    }
    return tuple(_filled(command, names) for command in check.commands)


def _bucket(stream: str) -> str:
    prefix = next((known for known in _BUCKETS if stream.startswith(known)), None)
    return "" if prefix is None else stream.removeprefix(prefix)


def _filled(command: str, names: Mapping[str, str]) -> str:
    def name(found: re.Match[str]) -> str:
        known = names[found[1]]
        return shlex.quote(known) if known else found[1]

    return _PLACEHOLDER.sub(name, command)
