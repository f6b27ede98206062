"""How much a finding matters. Standard library only: the command line imports it."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters. Reports are in the order of `SEVERITIES`."""

    INFO = "info"
    WARN = "warn"
    CRIT = "crit"

    @property
    def rank(self) -> int:
        return SEVERITIES.index(self)


SEVERITIES = (Severity.CRIT, Severity.WARN, Severity.INFO)  # the worst first
