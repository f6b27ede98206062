"""What happened to a stream between two polls."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW, at, stream, stream_config

from exporter.model import Replica, Stream
from exporter.signals.stream_changes import (
    NO_CHANGE,
    PollTimes,
    StreamChange,
    contradicts_limits,
    divergence,
    is_gapless,
    overwrites_by_design,
    purged_messages,
    removed_by_limits,
    removed_messages,
    stream_change,
)

BORN = at(NOW - 1000)
POLLS = PollTimes(NOW - 15, NOW)


def held(first: int, last: int, messages: int | None = None, **changes: Any) -> Stream:
    """Holds all from `first` to `last`, unless it says how many."""
    number = last - first + 1 if messages is None else messages
    plain: dict[str, Any] = {
        "created": BORN,
        "first_seq": first,
        "last_seq": last,
        "messages": number,
        "bytes": 100 * number,
        "first_time": at(NOW - 60) if number else None,
    }
    return stream(**{**plain, **changes})


CHANGES: list[tuple[str, Stream, Stream, StreamChange]] = [
    ("it grew", held(1, 10), held(1, 20), NO_CHANGE),
    (
        "made again",
        held(1, 10),
        held(1, 2, created=at(NOW)),
        StreamChange(recreated=True),
    ),
    (
        "a restart of an old server moves the time of creation a little",
        held(1, 10),
        held(1, 10, created=at(NOW - 1000 + 0.0005)),
        NO_CHANGE,
    ),
    ("restored from an older copy", held(1, 10), held(1, 8), StreamChange(regressed=True)),
    (
        "another leader",
        held(1, 10),
        held(1, 10, leader="n2"),
        StreamChange(leader_changed=True),
    ),
    ("its leader was unknown before", held(1, 10, leader=""), held(1, 10), NO_CHANGE),
    ("purged up to a message", held(1, 10), held(6, 12), StreamChange(purged=5)),
    ("purged altogether", held(1, 10), held(13, 12, 0), StreamChange(purged=12)),
    ("one deleted in the middle", held(1, 10), held(1, 10, 9), NO_CHANGE),
]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [case[1:] for case in CHANGES],
    ids=[case[0] for case in CHANGES],
)
def test_a_change_is_noticed(before: Stream, now: Stream, expected: StreamChange) -> None:
    assert stream_change(before, now, removed_by_limits(before, now, POLLS)) == expected


BY_LIMIT: list[tuple[str, dict[str, Any], Stream, Stream, int]] = [
    ("no limit at all", {}, held(1, 10), held(6, 15), 0),
    ("as many as may be", {"max_messages": 10}, held(1, 10), held(6, 15), 5),
    ("fewer than may be", {"max_messages": 20}, held(1, 10), held(6, 15), 0),
    ("discard new", {"max_messages": 10, "discard": "new"}, held(1, 10), held(6, 15), 0),
    ("a limit that was lowered", {"max_messages": 4}, held(1, 10), held(7, 10), 6),
    ("below the limits: a client deleted some", {"max_messages": 10}, held(1, 10), held(11, 15), 5),
    ("nothing left", {"max_messages": 5}, held(1, 10), held(1, 15), 0),
    ("full of bytes", {"max_bytes": 1050}, held(1, 10), held(6, 15), 5),
    ("full, discard new", {"max_bytes": 1050, "discard": "new"}, held(1, 10), held(6, 15), 0),
    ("full of bytes, but nothing came", {"max_bytes": 1050}, held(1, 10), held(6, 10), 0),
    ("more bytes than the limit of now", {"max_bytes": 500}, held(1, 10), held(6, 10), 5),
    ("space for many more bytes", {"max_bytes": 9999}, held(1, 10), held(6, 15), 0),
    ("a few large ones never fill it to the brim", {"max_bytes": 490}, held(1, 3), held(3, 5), 2),
    ("too old", {"max_age_seconds": 60.0}, held(1, 10), held(6, 10), 5),
    ("too old, discard new", {"max_age_seconds": 60.0, "discard": "new"}, held(1, 10), held(6, 10), 5),
    ("not old enough", {"max_age_seconds": 90.0}, held(1, 10), held(6, 10), 0),
    ("of unknown age", {"max_age_seconds": 60.0}, held(1, 10, first_time=None), held(6, 10), 5),
    ("came and went since", {"max_age_seconds": 5.0}, held(11, 10, 0), held(13, 15), 2),
    ("too young for that", {"max_age_seconds": 60.0}, held(11, 10, 0), held(13, 15), 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "before", "now", "expected"),
    [case[1:] for case in BY_LIMIT],
    ids=[case[0] for case in BY_LIMIT],
)
def test_limits_may_have_removed_at_most(
    limits: dict[str, Any], before: Stream, now: Stream, expected: int
) -> None:
    config = stream_config(**limits)
    now = _with(now, config=config)
    assert removed_by_limits(_with(before, config=config), now, POLLS) == expected


def test_what_was_stored_too_late_cannot_have_expired() -> None:
    config = stream_config(max_age_seconds=60.0)
    polls = PollTimes(NOW - 15, NOW, {NOW - 58.0: 4}.get)
    now = held(6, 10, config=config)
    assert removed_by_limits(held(1, 10, config=config), now, polls) == 3
    mirror = stream_config(max_age_seconds=60.0, mirror="ORIGIN")
    assert removed_by_limits(held(1, 10), _with(now, config=mirror), polls) == 5


def test_a_limit_that_was_changed_may_have_removed_before_and_after() -> None:
    old, new = stream_config(max_messages=10), stream_config()
    assert removed_by_limits(held(1, 10, config=old), held(6, 15, config=new), POLLS) == 5


def _with(row: Stream, **changes: Any) -> Stream:
    return stream(**{name: getattr(row, name) for name in row.__struct_fields__} | changes)


def test_of_an_unknown_configuration_anything_may_be_true() -> None:
    assert removed_by_limits(held(1, 10), held(6, 10, config=None), POLLS) == 5


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (stream_config(max_messages=5), True),
        (stream_config(max_messages=10, max_bytes=2000), False),
        (stream_config(max_bytes=500), True),
        (stream_config(), False),
        (None, False),
    ],
)
def test_a_stream_that_holds_more_than_it_may_has_another_configuration(
    config: Any, *, expected: bool
) -> None:
    assert contradicts_limits(held(1, 10, config=config)) is expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, False),
        ({"kind": "kv"}, True),
        ({"max_messages_per_subject": 1}, True),
        ({"max_messages_per_subject": 1, "discard": "new"}, True),
        ({"max_messages_per_subject": 1, "discard": "new", "discard_new_per_subject": True}, False),
        ({"message_ttl": True}, True),
        ({"delete_markers": True}, True),
        ({"schedules": True}, True),
    ],
)
def test_some_streams_remove_messages_by_design(config: dict[str, Any], *, expected: bool) -> None:
    assert overwrites_by_design(stream_config(**config)) is expected


@pytest.mark.parametrize(
    "config",
    [
        stream_config(retention="workqueue"),
        stream_config(retention="interest"),
        stream_config(mirror="ORIGIN"),
        stream_config(max_messages_per_subject=1),
        stream_config(message_ttl=True),
        None,
    ],
)
def test_where_messages_go_on_their_own_no_purge_is_reported(config: Any) -> None:
    assert purged_messages(held(1, 10), held(6, 12, config=config), 0) == 0


def test_what_left_is_counted_whatever_came() -> None:
    assert removed_messages(held(1, 10), held(6, 15)) == 5
    assert removed_messages(held(1, 10), held(1, 15)) == 0
    assert removed_messages(held(1, 10), held(16, 15, 0)) == 15


def test_gaps_are_seen() -> None:
    assert is_gapless(held(3, 10))
    assert not is_gapless(held(3, 10, 7))
    assert is_gapless(held(11, 10, 0))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (stream_config(), False),
        (stream_config(max_messages=10), False),
        (stream_config(kind="kv"), True),
        (stream_config(kind="object"), True),
        (stream_config(max_messages_per_subject=5), True),
        (stream_config(message_ttl=True), True),
        (None, False),
    ],
)
def test_some_streams_overwrite_by_design(config: Any, *, expected: bool) -> None:
    assert overwrites_by_design(config) is expected


def test_followers_that_hold_something_else_are_named() -> None:
    replicas = (
        Replica("n2", 0, offline=False, active_seconds=0.1),
        Replica("n3", 5, offline=False, active_seconds=0.1),
        Replica("n4", 0, offline=True, active_seconds=None),
    )
    counts = (("n2", 8), ("n3", 5), ("n4", 1))
    row = held(1, 10, replicas=replicas, follower_messages=counts)
    assert divergence(row) == (("n2", 2),)  # the others are known to be behind or away
    assert divergence(held(1, 10, replicas=replicas, follower_messages=(("n2", 10),))) == ()
    assert divergence(held(1, 10)) == ()
