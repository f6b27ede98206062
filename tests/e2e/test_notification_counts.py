"""How the inbox counts: only news counts, and a repetition is news that nobody wants."""

from __future__ import annotations

from support.alert_pipeline.webhook import Inbox, Key, Post, key_of

FIRST = {"alertname": "A"}
SECOND = {"alertname": "B"}


def post(firing: list[dict[str, str]], resolved: list[dict[str, str]] | None = None) -> Post:
    return Post("page", "one group", _keys(firing), _keys(resolved or []), (), 0.0)


def _keys(alerts: list[dict[str, str]]) -> frozenset[Key]:
    return frozenset(map(key_of, alerts))


def test_what_comes_once_was_told_once() -> None:
    assert Inbox([post([FIRST]), post([], [FIRST])]).times_told(FIRST) == 1


def test_what_never_comes_was_not_told() -> None:
    assert Inbox([post([FIRST])]).times_told(SECOND) == 0


def test_a_repetition_counts() -> None:
    assert Inbox([post([FIRST]), post([FIRST])]).times_told(FIRST) == 2


def test_what_fires_again_after_it_was_resolved_counts() -> None:
    posts = [post([FIRST]), post([], [FIRST]), post([FIRST])]
    assert Inbox(posts).times_told(FIRST) == 2


def test_another_that_joins_or_leaves_the_group_does_not_count() -> None:
    posts = [post([FIRST]), post([FIRST, SECOND]), post([FIRST], [SECOND]), post([], [FIRST])]
    assert Inbox(posts).times_told(FIRST) == 1
    assert Inbox(posts).times_told(SECOND) == 1
