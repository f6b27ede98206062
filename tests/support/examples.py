"""Numbers of Hypothesis examples that follow the profile."""

from hypothesis import settings

_PERCENT = 100  # max_examples of the default profile


def examples(number: int) -> int:
    """`number` under the default profile, and its share under a smaller one like `fast`.

    An explicit max_examples would override the profile.
    """
    return max(1, number * settings.default.max_examples // _PERCENT)
