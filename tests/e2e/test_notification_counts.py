"""How the inbox counts notifications: new alerts and repetitions count, the rest of a group does not."""

from __future__ import annotations

from support.alert_pipeline.webhook import Inbox, Key, Post, key_of

FIRST = {"alertname": "A"}
SECOND = {"alertname": "B"}


def post(firing: list[dict[str, str]], resolved: list[dict[str, str]] | None = None) -> Post:
    return Post("page", "one group", _keys(firing), _keys(resolved or []), (), frozenset(), 0.0)


def _keys(alerts: list[dict[str, str]]) -> frozenset[Key]:
    return frozenset(map(key_of, alerts))


def test_one_notification_counts_once() -> None:
    assert Inbox([post([FIRST]), post([], [FIRST])]).notification_count(FIRST) == 1


def test_an_alert_without_a_notification_counts_zero() -> None:
    assert Inbox([post([FIRST])]).notification_count(SECOND) == 0


def test_a_repetition_counts() -> None:
    assert Inbox([post([FIRST]), post([FIRST])]).notification_count(FIRST) == 2


def test_what_fires_again_after_it_was_resolved_counts() -> None:
    posts = [post([FIRST]), post([], [FIRST]), post([FIRST])]
    assert Inbox(posts).notification_count(FIRST) == 2


def test_another_that_joins_or_leaves_the_group_does_not_count() -> None:
    posts = [post([FIRST]), post([FIRST, SECOND]), post([FIRST], [SECOND]), post([], [FIRST])]
    assert Inbox(posts).notification_count(FIRST) == 1
    assert Inbox(posts).notification_count(SECOND) == 1
