"""Printed commands: a name is never parsed as a flag, unknown names stay placeholders."""

import shlex
from dataclasses import replace

import pytest
from support.audit.reports import check

from exporter.audit.check import Finding
from exporter.audit.output.printed_commands import UNKNOWN_ACCOUNT, printed_commands
from exporter.audit.registry import all_checks
from exporter.sources import account

DASHED = Finding(evidence="", account="-a", stream="-s", consumer="--c", server="-n")


def printed(command: str, finding: Finding) -> str:
    (made,) = printed_commands(replace(check(), commands=(command,)), finding)
    return made


@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("nats stream edit STREAM --ack", "nats stream edit --ack -- -s"),
        ("nats stream info STREAM", "nats stream info -- -s"),
        (
            "nats consumer edit STREAM CONSUMER --wait 2m --sample 10",
            "nats consumer edit --wait 2m --sample 10 -- -s --c",
        ),
        (
            "nats consumer copy STREAM CONSUMER NEW --pull",
            "nats consumer copy --pull -- -s --c NEW",
        ),
        (
            "nats stream cluster peer-remove STREAM SERVER",
            "nats stream cluster peer-remove -- -s -n",
        ),
        ("nats server check server --name SERVER --js", "nats server check server --name=-n --js"),
        ("nats stream add NEW_STREAM --source STREAM", "nats stream add NEW_STREAM --source=-s"),
        ("nats auth account edit ACCOUNT --js-disk 1", "nats auth account edit --js-disk 1 -- -a"),
        ("nats server report jetstream --sort name", "nats server report jetstream --sort name"),
    ],
)
def test_a_name_that_looks_like_a_flag_comes_after_all_flags(command: str, made: str) -> None:
    assert printed(command, DASHED) == made


def test_a_bucket_that_looks_like_a_flag_comes_after_all_flags() -> None:
    bucket = Finding(evidence="", stream="KV_-b")
    assert printed("nats kv edit BUCKET --history 5", bucket) == "nats kv edit --history 5 -- -b"


def test_other_names_stay_where_people_expect_them() -> None:
    plain = Finding(evidence="", stream="A-B", consumer="c-")
    made = printed("nats consumer edit STREAM CONSUMER --wait 2m", plain)
    assert made == "nats consumer edit A-B c- --wait 2m"


def test_no_command_of_any_check_leaves_such_a_name_among_its_flags() -> None:
    names = {DASHED.account, DASHED.stream, DASHED.consumer, DASHED.server}
    for one in all_checks():
        for command in printed_commands(one, DASHED):
            words = shlex.split(command)
            flags = words[: words.index("--")] if "--" in words else words
            assert names.isdisjoint(flags), command


def test_an_account_whose_name_is_not_known_stays_a_word_in_capitals() -> None:
    assert UNKNOWN_ACCOUNT == account._UNKNOWN_ACCOUNT
    unnamed = Finding(evidence="", account=UNKNOWN_ACCOUNT, stream="S")
    command = "nats auth account edit ACCOUNT --js-disk 1"
    assert printed(command, unnamed) == command
    assert printed("nats stream info STREAM", unnamed) == "nats stream info S"


def test_a_command_holds_no_control_code() -> None:
    assert printed("nats stream info STREAM", Finding(evidence="", stream="a\x1b[2J")) == (
        "nats stream info 'a\\x1b[2J'"
    )
