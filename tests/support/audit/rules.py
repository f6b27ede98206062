"""Rules that every check has to keep: one failure lists all files that break a rule."""

from collections.abc import Callable, Iterable

from support.audit.contexts import check_of, found_by
from support.collected import over_all

from exporter.audit.check import Check, Finding
from exporter.audit.context import AuditContext
from exporter.audit.registry import all_checks


def check_file(code: str) -> str:
    return f"exporter/audit/checks/{code.replace('-', '_')}.py"


def assert_rule(rule: str, violations: Iterable[str]) -> None:
    """`violations`: one line each, beginning with the file to edit."""
    found = sorted(set(violations))
    assert not found, "\n".join([f"{rule}; edit:", *found])


def over_checks(rule: str) -> Callable[[Callable[[Check], None]], Callable[[], None]]:
    return over_all(all_checks(), f"{rule}; edit:", lambda check: check_file(check.code))


def error_of(code: str, context: AuditContext) -> Exception | None:
    try:
        list(check_of(code).find(context))
    except Exception as error:  # noqa: BLE001  every error breaks the rule
        return error
    return None


def findings_unless_broken(code: str, context: AuditContext) -> list[Finding]:
    """Empty for a check that raises: the rule about exceptions reports it, no other one."""
    return [] if error_of(code, context) is not None else found_by(code, context)
