"""Rules that every check has to keep: one failure lists all files that break a rule."""

from collections.abc import Callable, Iterable

from exporter.audit.check import Check
from exporter.audit.registry import all_checks


def check_file(code: str) -> str:
    return f"exporter/audit/checks/{code.replace('-', '_')}.py"


def assert_rule(rule: str, violations: Iterable[str]) -> None:
    """`violations`: one line each, beginning with the file to edit."""
    found = sorted(set(violations))
    assert not found, "\n".join([f"{rule}; edit:", *found])


def assert_all_checks(rule: str, holds: Callable[[Check], bool]) -> None:
    assert_rule(rule, (check_file(one.code) for one in all_checks() if not holds(one)))
