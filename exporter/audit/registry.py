"""The list of all checks: one CHECK per module of checks/."""

from __future__ import annotations

import difflib
import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from types import ModuleType

from exporter.audit import checks as folder
from exporter.audit.check import Check, CheckError
from exporter.audit.report import SUBJECT_ORDER


@cache
def all_checks() -> tuple[Check, ...]:
    """By subject, then by code."""
    return load_checks(folder)


def load_checks(package: ModuleType) -> tuple[Check, ...]:
    modules = sorted(found.name for found in pkgutil.iter_modules(package.__path__))
    found = [_check_of(import_module(f"{package.__name__}.{name}"), name) for name in modules]
    return tuple(sorted(found, key=lambda one: (SUBJECT_ORDER.index(one.subject), one.code)))


def _check_of(module: ModuleType, name: str) -> Check:
    # The file name is the code, so codes are unique.
    check = getattr(module, "CHECK", None)
    if not isinstance(check, Check):
        raise CheckError(f"{name}.py has no CHECK")
    if check.code.replace("-", "_") != name:
        raise CheckError(
            f"{name}.py holds the check {check.code}: rename the file to match the code"
        )
    return check


def codes() -> frozenset[str]:
    return frozenset(check.code for check in all_checks())


def near_code(code: str) -> str:
    """The most similar code, or an empty string."""
    return next(iter(difflib.get_close_matches(code, sorted(codes()), n=1)), "")


def selected_checks(only: Iterable[str] = (), skip: Iterable[str] = ()) -> tuple[Check, ...]:
    """The checks in `only`, or all of them, without those in `skip`."""
    wanted, unwanted = frozenset(only) or codes(), frozenset(skip)
    return tuple(one for one in all_checks() if one.code in wanted and one.code not in unwanted)
