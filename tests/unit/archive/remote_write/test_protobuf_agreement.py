"""The decoder and the protobuf library agree on altered requests, or differ by a rule."""

from __future__ import annotations

from typing import Final

import pytest
from support.fuzz.requests import NOT_EXPLAINED, REFUSED, check_requests
from support.nats.servers import long_run

from archive.remote_write.decoder import Version
from archive.remote_write.protobuf import MalformedError, read_fields

REQUESTS: Final = 100_000 if long_run() else 10_000


@pytest.mark.timeout(900)  # a hundred thousand in the long run
@pytest.mark.parametrize("version", list(Version))
def test_the_decoder_and_protobuf_agree_or_differ_by_a_rule(version: Version) -> None:
    rules = check_requests(REQUESTS, 20, version)
    assert not [rule for rule in rules if rule.startswith(NOT_EXPLAINED)]
    assert rules[""] > REQUESTS / 2
    assert rules[REFUSED] > REQUESTS / 20


def test_a_field_number_that_protobuf_does_not_have_is_malformed() -> None:
    with pytest.raises(MalformedError, match="a field has the number 536870912"):
        list(read_fields(b"\x80\x80\x80\x80\x10\x01", 0, 6))
