"""One test over many items: a rule that is broken fails once and names every offender."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

Item = TypeVar("Item")
_MOST_SHOWN = 40


def over_all(
    items: Iterable[Item], fix: str, name: Callable[[Item], str] = str
) -> Callable[[Callable[[Item], None]], Callable[[], None]]:
    """Turn a check of one item into one test of all. `fix` says which file or command to use."""

    def decorate(check: Callable[[Item], None]) -> Callable[[], None]:
        def test() -> None:
            failures = [line for item in items for line in _failure(check, item, name)]
            if failures:
                shown = "\n".join(failures[:_MOST_SHOWN])
                more = len(failures) - _MOST_SHOWN
                rest = f"\n... and {more} more" if more > 0 else ""
                pytest.fail(f"{fix}\n{shown}{rest}", pytrace=False)

        test.__name__, test.__doc__, test.__module__ = (
            check.__name__,
            check.__doc__,
            check.__module__,
        )
        return test

    return decorate


def _failure(
    check: Callable[[Item], None], item: Item, name: Callable[[Item], str]
) -> Iterable[str]:
    try:
        check(item)
    except AssertionError as error:
        first, _, _ = str(error).partition("\nassert ")
        yield f"  {name(item)}: {first.strip() or 'is wrong'}"
