"""Whether two subjects with wildcards can mean the same message."""

from __future__ import annotations


def overlap(one: str, other: str) -> bool:
    """Whether some subject matches both."""
    words, others = one.split("."), other.split(".")
    for left, right in zip(words, others, strict=False):
        if left == ">" or right == ">":
            return True
        if "*" not in (left, right) and left != right:
            return False
    # `>` stands for one word at least, so it never matches what has already ended.
    return len(words) == len(others)
