"""What each check says when it finds something: one line of evidence, for the checks' page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

# Written by the tests from the cases of each check.
FILE = "examples.tsv"


@cache
def examples() -> Mapping[str, str]:
    """By code; reads a file of this package."""
    text = files("exporter.audit").joinpath(FILE).read_text(encoding="utf-8")
    pairs = (line.partition("\t") for line in text.splitlines())
    return {code: evidence for code, _, evidence in pairs}


def written(found: Mapping[str, str]) -> str:
    return "".join(f"{code}\t{evidence}\n" for code, evidence in found.items())
