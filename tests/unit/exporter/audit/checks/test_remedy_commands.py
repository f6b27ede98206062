"""What the commands of the checks may not do to those who copy them: delete data unannounced."""

import re
import shlex
from collections.abc import Iterator
from typing import Final

import pytest
from support.audit.contexts import check_of

from exporter.audit.check import Check
from exporter.audit.registry import all_checks

each_check = pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.code)

# A number that fits one asset deletes the messages of another, or lowers what was to be raised.
DEPENDS_ON_THE_ASSET: Final = frozenset(
    {
        "--max-age", "--max-bytes", "--max-msgs", "--max-msgs-per-subject", "--max-consumers",
        "--max-pending", "--max-waiting", "--max-deliver", "--wait", "--ttl", "--replicas",
        "--backoff-steps", "--backoff-min", "--backoff-max", "--dupe-window",
        "--js-consumers", "--js-streams", "--js-disk", "--js-memory",
    }
)  # fmt: skip
NEW_STREAM: Final = "a new stream, which holds nothing yet"
FROM_ONE: Final = "only found with one replica, so it is raised"
ALLOWED: Final = {
    ("no-dead-letter", "--max-age"): NEW_STREAM,
    ("max-deliver-unlimited", "--max-age"): NEW_STREAM,
    ("backoff-endless", "--max-age"): NEW_STREAM,
    ("replicas-one", "--replicas"): FROM_ONE,
    ("replicas-memory-one", "--replicas"): FROM_ONE,
    ("sync-gap", "--replicas"): FROM_ONE,
    ("dupe-window-clipped", "--max-age"): "only found below two minutes, so it is raised",
    ("dupe-window-clipped", "--dupe-window"): "only found below two minutes, so it is raised",
    ("dupe-window-off", "--dupe-window"): "only found at 0, so it is raised",
    ("max-deliver-one", "--max-deliver"): "only found at 1, so it is raised",
}
PLACEHOLDER: Final = re.compile(r"[A-Z][A-Z_]*")
LIMITS_THAT_DELETE: Final = re.compile(r"(stream|kv) edit .*--(max-age|max-bytes|max-msgs|ttl) ")
# Limits of streams that delete nothing, each for its reason.
DELETES_NOTHING: Final = {
    "stream-limit-near": "the stream refuses when full",
    "discard-new-unlimited": "the stream refuses when full",
    "dead-letter-body-gone": "only found below a day, so it is raised",
    "dupe-window-clipped": "only found below two minutes, so it is raised",
}


def values(command: str) -> Iterator[tuple[str, str]]:
    """Each flag of a command that takes one of the numbers, and what it is given."""
    words = shlex.split(command)
    for place, word in enumerate(words):
        flag, joined, value = word.partition("=")
        if flag in DEPENDS_ON_THE_ASSET:
            yield flag, value if joined else words[place + 1]


def with_numbers(check: Check) -> set[tuple[str, str]]:
    return {
        (check.code, flag)
        for command in check.commands
        for flag, value in values(command)
        if not PLACEHOLDER.fullmatch(value)
    }


@each_check
def test_a_number_that_depends_on_the_asset_is_left_to_its_owner(check: Check) -> None:
    assert with_numbers(check) - set(ALLOWED) == set()


def test_every_number_that_is_allowed_is_there() -> None:
    used = {found for check in all_checks() for found in with_numbers(check)}
    assert set(ALLOWED) - used == set()


def test_a_number_is_seen_however_it_is_given() -> None:
    command = "nats stream edit S --max-age=7d --max-bytes 1GB --max-msgs MORE"
    assert list(values(command)) == [
        ("--max-age", "7d"),
        ("--max-bytes", "1GB"),
        ("--max-msgs", "MORE"),
    ]


@each_check
def test_a_limit_says_that_it_deletes_what_exceeds_it(check: Check) -> None:
    if any(LIMITS_THAT_DELETE.search(command) for command in check.commands):
        assert check.code in DELETES_NOTHING or "deletes what exceeds it" in check.remedy


@each_check
def test_whoever_removes_a_peer_is_warned_of_single_replicas(check: Check) -> None:
    if any("peer-remove" in command for command in check.commands):
        assert "one replica" in check.remedy
        assert re.search(r"deletes all its messages|lose all their messages", check.remedy)


@each_check
def test_whoever_writes_metadata_is_told_that_they_replace_all(check: Check) -> None:
    if any("--metadata" in command for command in check.commands):
        assert "--metadata replaces them" in check.remedy


@each_check
def test_a_list_of_subjects_is_said_to_replace_the_old_one(check: Check) -> None:
    if any(re.search(r"stream edit .*--subjects", command) for command in check.commands):
        assert "--subjects replaces the whole list" in check.remedy


@each_check
def test_a_copy_of_a_consumer_says_where_it_starts(check: Check) -> None:
    for command in check.commands:
        if "consumer copy" in command:
            assert "after the last acknowledged sequence" in check.remedy
            # A copy that stays ephemeral keeps its name: the consumer is changed, not made again.
            assert ("--deliver SEQUENCE" in command) is ("--ephemeral" not in command)


@each_check
def test_whoever_sets_a_first_step_is_told_that_it_replaces_ack_wait(check: Check) -> None:
    if any("--backoff-min" in command for command in check.commands):
        assert "takes the place of ack_wait" in check.remedy


@pytest.mark.parametrize("code", ["max-deliver-unlimited", "backoff-endless"])
def test_what_is_given_up_is_kept_before_deliveries_are_limited(code: str) -> None:
    first, then = check_of(code).commands
    assert "MAX_DELIVERIES" in first
    assert "--max-deliver N" in then
    assert "given up at once" in check_of(code).remedy
