"""Rows of recorded lists, altered at random: no crash, no wrong value, every drop counted."""

from typing import Final

import pytest
from support.fuzz.responses import check_responses
from support.nats.servers import long_run

RESPONSES: Final = 100_000 if long_run() else 5_000


@pytest.mark.timeout(900)  # a hundred thousand in the long run
def test_an_altered_row_is_read_right_or_counted() -> None:
    found = check_responses(RESPONSES, seed=23)
    assert min(found["read"], found["unread"], found["malformed"]) > RESPONSES / 20
