"""A rule over many items fails once, and the message names each offender and the fix."""

import pytest
from support.collected import over_all


def test_every_offender_is_named_in_one_failure() -> None:
    @over_all([1, 2, 3, 4], "edit numbers.py")
    def is_even(number: int) -> None:
        assert number % 2 == 0, f"{number} is odd"

    with pytest.raises(pytest.fail.Exception) as failure:
        is_even()
    assert failure.value.msg == "edit numbers.py\n  1: 1 is odd\n  3: 3 is odd"


def test_a_rule_that_holds_passes() -> None:
    over_all([2, 4], "edit numbers.py")(lambda number: None)()


def test_an_error_in_the_check_itself_is_not_hidden() -> None:
    def broken(number: int) -> None:
        raise KeyError(number)

    with pytest.raises(KeyError):
        over_all([1], "edit numbers.py")(broken)()
