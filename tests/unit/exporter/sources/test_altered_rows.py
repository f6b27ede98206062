"""Recorded rows and statistics, altered at random: no crash, no wrong value, every drop counted."""

from typing import Final

import pytest
from support.fuzz.responses import check_responses
from support.fuzz.servers import check_servers
from support.nats.servers import long_run

RESPONSES: Final = 100_000 if long_run() else 5_000


@pytest.mark.timeout(900)  # a hundred thousand in the long run
def test_an_altered_row_is_read_right_or_counted() -> None:
    found = check_responses(RESPONSES, seed=23)
    assert min(found["read"], found["unread"], found["malformed"]) > RESPONSES / 20


@pytest.mark.timeout(900)  # a hundred thousand in the long run
def test_altered_statistics_of_a_server_are_read_right_or_malformed() -> None:
    found = check_servers(RESPONSES, seed=23)
    assert min(found["read"], found["malformed"]) > RESPONSES / 20
