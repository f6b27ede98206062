"""The words that `make check` refuses, in prose and inside names."""

import pytest
from support.vocabulary import findings


@pytest.mark.parametrize(
    "line",
    [
        "what the server told us", "def _told_before(", "class EventBook:", "the rooms of it",
        "in the other room", "for whoever reads", "nobody pulls", "question: str", "self.question",
        "NOBODY_PULLS", "made anew",
    ],
)  # fmt: skip
def test_a_word_of_the_old_dialect_is_found(line: str) -> None:
    assert len(list(findings(line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "a server has room for two streams", "make room", "the question of an operator",
        "a notebook", "Bookmark", "untolding", "broom",
    ],
)  # fmt: skip
def test_plain_english_stays(line: str) -> None:
    assert list(findings(line)) == []
