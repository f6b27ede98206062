"""Remedies warn about commands that delete data or replace settings."""

import re
import shlex
from collections.abc import Iterator
from typing import Final

import pytest
from support.audit.contexts import check_of
from support.audit.rules import over_checks

from exporter.audit.check import Check
from exporter.audit.registry import all_checks

# A value that fits one asset may delete the messages of another one, or lower its limit.
DEPENDS_ON_THE_ASSET: Final = frozenset(
    {
        "--max-age", "--max-bytes", "--max-msgs", "--max-msgs-per-subject", "--max-consumers",
        "--max-pending", "--max-waiting", "--max-deliver", "--wait", "--ttl", "--replicas",
        "--backoff-steps", "--backoff-min", "--backoff-max", "--dupe-window",
        "--js-consumers", "--js-streams", "--js-disk", "--js-memory",
    }
)  # fmt: skip
NEW_STREAM: Final = "the stream is new and empty"
FROM_ONE: Final = "the check requires one replica, so the command raises it"
ALLOWED: Final = {
    ("no-dead-letter", "--max-age"): NEW_STREAM,
    ("max-deliver-unlimited", "--max-age"): NEW_STREAM,
    ("backoff-endless", "--max-age"): NEW_STREAM,
    ("replicas-one", "--replicas"): FROM_ONE,
    ("replicas-memory-one", "--replicas"): FROM_ONE,
    ("sync-gap", "--replicas"): FROM_ONE,
    ("dupe-window-clipped", "--max-age"): "the check requires less than two minutes",
    ("dupe-window-clipped", "--dupe-window"): "the check requires less than two minutes",
    ("dupe-window-off", "--dupe-window"): "the check requires 0",
    ("max-deliver-one", "--max-deliver"): "the check requires 1",
}
PLACEHOLDER: Final = re.compile(r"[A-Z][A-Z_]*")
LIMITS_THAT_DELETE: Final = re.compile(r"(stream|kv) edit .*--(max-age|max-bytes|max-msgs|ttl) ")
# Checks whose commands set a limit that deletes nothing.
DELETES_NOTHING: Final = {
    "stream-limit-near": "the stream uses discard new",
    "discard-new-unlimited": "the stream uses discard new",
    "dead-letter-body-gone": "the check requires less than a day, so the command raises it",
    "dupe-window-clipped": "the check requires less than two minutes, so the command raises it",
}


def values(command: str) -> Iterator[tuple[str, str]]:
    """The flags of a command whose value depends on the asset, with their values."""
    words = shlex.split(command)
    for index, word in enumerate(words):
        flag, joined, value = word.partition("=")
        if flag in DEPENDS_ON_THE_ASSET:
            yield flag, value if joined else words[index + 1]


def fixed_values(check: Check) -> set[tuple[str, str]]:
    return {
        (check.code, flag)
        for command in check.commands
        for flag, value in values(command)
        if not PLACEHOLDER.fullmatch(value)
    }


def uses(check: Check, pattern: str) -> bool:
    return any(re.search(pattern, command) for command in check.commands)


@over_checks("a command sets a fixed value: use a placeholder in capitals")
def test_values_that_depend_on_the_asset_are_placeholders(check: Check) -> None:
    assert fixed_values(check) - set(ALLOWED) == set()


def test_every_allowed_value_is_used() -> None:
    used = {found for check in all_checks() for found in fixed_values(check)}
    assert set(ALLOWED) - used == set()


def test_values_are_found_in_both_flag_forms() -> None:
    command = "nats stream edit S --max-age=7d --max-bytes 1GB --max-msgs MORE"
    assert list(values(command)) == [
        ("--max-age", "7d"),
        ("--max-bytes", "1GB"),
        ("--max-msgs", "MORE"),
    ]


@over_checks('a command sets a limit: the remedy must say that it "deletes what exceeds it"')
def test_a_remedy_warns_that_a_limit_deletes_messages(check: Check) -> None:
    limiting = any(LIMITS_THAT_DELETE.search(command) for command in check.commands)
    if limiting and check.code not in DELETES_NOTHING:
        assert "deletes what exceeds it" in check.remedy


@over_checks("a command removes a peer: the remedy must warn about streams with one replica")
def test_a_remedy_warns_that_peer_remove_loses_single_replicas(check: Check) -> None:
    lost = r"one replica.*(deletes all its messages|lose all their messages)"
    if uses(check, "peer-remove"):
        assert re.search(lost, check.remedy)


@over_checks('a command sets --metadata: the remedy must say "--metadata replaces them"')
def test_a_remedy_warns_that_metadata_is_replaced(check: Check) -> None:
    if uses(check, "--metadata"):
        assert "--metadata replaces them" in check.remedy


@over_checks('a command sets --subjects: the remedy must say "--subjects replaces the whole list"')
def test_a_remedy_warns_that_subjects_are_replaced(check: Check) -> None:
    if uses(check, "stream edit .*--subjects"):
        assert "--subjects replaces the whole list" in check.remedy


@over_checks("a command copies a consumer: start it after the last acknowledged sequence")
def test_a_copy_of_a_consumer_names_its_start(check: Check) -> None:
    for copy in (command for command in check.commands if "consumer copy" in command):
        assert "after the last acknowledged sequence" in check.remedy
        # An ephemeral copy keeps the name, so the server changes the consumer in place.
        assert ("--deliver SEQUENCE" in copy) is ("--ephemeral" not in copy), copy


@over_checks("a command sets --backoff-min: the remedy must say that it replaces ack_wait")
def test_a_remedy_warns_that_the_first_backoff_step_replaces_ack_wait(check: Check) -> None:
    if uses(check, "--backoff-min"):
        assert "replaces ack_wait" in check.remedy


@pytest.mark.parametrize("code", ["max-deliver-unlimited", "backoff-endless"])
def test_advisories_are_stored_before_deliveries_are_limited(code: str) -> None:
    first, then = check_of(code).commands
    assert "MAX_DELIVERIES" in first
    assert "--max-deliver N" in then
    assert "not delivered again" in check_of(code).remedy
