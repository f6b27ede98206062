"""Whether two subjects with wildcards overlap."""

from __future__ import annotations


def overlap(one: str, other: str) -> bool:
    """Whether any subject matches both."""
    tokens, others = one.split("."), other.split(".")
    for left, right in zip(tokens, others, strict=False):
        if left == ">" or right == ">":
            return True
        if "*" not in (left, right) and left != right:
            return False
    # `>` matches one token or more, so it cannot match the end of the shorter subject.
    return len(tokens) == len(others)
