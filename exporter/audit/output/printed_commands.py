"""The commands of a finding as they are printed: no name is taken for a flag. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from msgspec.structs import replace as changed

from exporter.audit.check import Check, Finding
from exporter.audit.output.remedy_commands import commands_for
from streamgauge.serving.log_escape import one_line

# What the account source calls an account whose name it may not read: no name for a command.
UNKNOWN_ACCOUNT = "account"

_NAMES = r"(?:STREAM|CONSUMER|ACCOUNT|SERVER|BUCKET)(?= |$)"
_OPERANDS = re.compile(
    rf"(?P<start>(?:[^-\s]\S* )+?)(?P<operands>{_NAMES}(?: [^-\s]\S*)*)(?P<flags>.*)"
)
_VALUE = re.compile(rf"(--[\w-]+) ({_NAMES})")


def printed_commands(check: Check, finding: Finding) -> tuple[str, ...]:
    if finding.account == UNKNOWN_ACCOUNT:
        finding = changed(finding, account="")
    names = (finding.account, finding.stream, finding.consumer, finding.server)
    # The name of a bucket comes after a prefix, so only the stream's own tells how it begins.
    bucket = finding.stream.partition("_")[2]
    if any(name.startswith("-") for name in (*names, bucket)):
        check = replace(check, commands=tuple(_names_last(one) for one in check.commands))
    return tuple(one_line(command) for command in commands_for(check, finding))


def _names_last(command: str) -> str:
    """Behind `--`, where the nats program takes no word for a flag: quotes would not help."""
    bound = _VALUE.sub(r"\1=\2", command)
    found = _OPERANDS.fullmatch(bound)
    if found is None:
        return bound
    return f"{found['start'].rstrip()}{found['flags']} -- {found['operands']}"
