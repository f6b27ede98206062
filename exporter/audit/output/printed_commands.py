"""The commands of a finding for print: a name is never parsed as a flag. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from msgspec.structs import replace as changed

from exporter.audit.check import Check, Finding
from streamgauge.serving.log_escape import one_line

# The account source uses this if it may not read the name of the account.
UNKNOWN_ACCOUNT = "account"

_NAMES = r"(?:STREAM|CONSUMER|ACCOUNT|SERVER|BUCKET)(?= |$)"
_OPERANDS = re.compile(
    rf"(?P<start>(?:[^-\s]\S* )+?)(?P<operands>{_NAMES}(?: [^-\s]\S*)*)(?P<flags>.*)"
)
_VALUE = re.compile(rf"(--[\w-]+) ({_NAMES})")
# Whole words only: subjects of advisories contain the same words.
_PLACEHOLDER = re.compile(r"(?<![\w.$])(STREAM|CONSUMER|ACCOUNT|SERVER|BUCKET)(?![\w.])")
_BUCKETS = ("KV_", "OBJ_")


def printed_commands(check: Check, finding: Finding) -> tuple[str, ...]:
    if finding.account == UNKNOWN_ACCOUNT:
        finding = changed(finding, account="")
    names = (finding.account, finding.stream, finding.consumer, finding.server)
    # The name of a bucket is the stream name without its prefix.
    bucket = finding.stream.partition("_")[2]
    if any(name.startswith("-") for name in (*names, bucket)):
        check = replace(check, commands=tuple(_names_last(one) for one in check.commands))
    return tuple(one_line(command) for command in commands_for(check, finding))


def _names_last(command: str) -> str:
    """Moves the names behind `--`, after which the nats CLI parses no flags."""
    bound = _VALUE.sub(r"\1=\2", command)
    found = _OPERANDS.fullmatch(bound)
    if found is None:
        return bound
    return f"{found['start'].rstrip()}{found['flags']} -- {found['operands']}"


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
