"""The queries of `python -m bench rules`."""

from __future__ import annotations

import re

from bench.rules.queries import board_queries, names_in, rule_queries
from exporter import catalog


def test_every_query_of_every_board_is_sent_without_a_variable() -> None:
    boards = board_queries(6.0)
    assert len(boards) == 8
    sent = [one for queries in boards.values() for one in queries]
    assert [one.name for one in sent if re.search(r"\$[a-z{]", one.text)] == []


def test_the_series_of_the_rules_are_found() -> None:
    assert catalog.CONSUMER_UP.name in names_in(rule_queries())
