"""The evidence on the checks' page is what the checks say, of every check."""

import pytest
from support.audit.examples import FILE, made

from exporter.audit.examples import examples, written
from exporter.audit.registry import codes
from exporter.pages.reference.checks import render


def test_the_examples_are_fresh() -> None:
    how = "run python -m support.audit.examples in tests/, then make generate"
    assert FILE.read_text(encoding="utf-8") == written(made()), how


def test_every_check_has_one_and_its_page_shows_it() -> None:
    assert set(examples()) == codes()
    page = render()
    for code, evidence in examples().items():
        section = page.partition(f"\n## {code}\n")[2].partition("\n## ")[0]
        assert f"`{evidence}`" in section, code


@pytest.mark.parametrize("code", sorted(codes()))
def test_a_chapter_says_what_why_and_what_to_do(code: str) -> None:
    section = render().partition(f"\n## {code}\n")[2].partition("\n## ")[0]
    for part in ("Found when", "Evidence, for example", "Why it matters", "What to do"):
        assert f"- **{part}:** " in section
    assert "```sh\nnats " in section
