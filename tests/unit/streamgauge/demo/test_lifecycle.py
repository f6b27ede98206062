"""`async with` closes what it started, however start or use end."""

import pytest

from streamgauge.demo.processes.lifecycle import Lifecycle


class Recorded(Lifecycle):
    """Records its calls; its start fails if configured."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.done: list[str] = []
        self._failure = failure

    async def start(self) -> None:
        self.done.append("start")
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        self.done.append("close")


async def test_it_is_started_before_its_use_and_closed_after_it() -> None:
    program = Recorded()
    async with program as entered:
        assert entered is program
        assert program.done == ["start"]
    assert program.done == ["start", "close"]


@pytest.mark.parametrize("failure", [OSError("no port"), KeyboardInterrupt()])
async def test_a_start_that_fails_leaves_nothing_behind(failure: BaseException) -> None:
    program = Recorded(failure)
    with pytest.raises(type(failure)):
        async with program:
            pytest.fail("its use began although it did not start")
    assert program.done == ["start", "close"]


async def test_a_failure_during_its_use_closes_it_and_is_passed_on() -> None:
    program = Recorded()
    with pytest.raises(ValueError, match="of the use"):
        async with program:
            raise ValueError("of the use")
    assert program.done == ["start", "close"]
