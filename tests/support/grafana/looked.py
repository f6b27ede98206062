"""The panels of a board as a browser shows them in Grafana, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from support.browser import Page

# Test ids of Grafana 10.4 to 13, as its package of selectors names them.
_PANELS: Final = """
[...document.querySelectorAll('section[data-testid^="data-testid Panel header "]')].map(panel => {
  const name = panel.querySelector('h2');
  return [
    panel.dataset.testid.replace('data-testid Panel header ', ''),
    panel.innerText,
    name !== null && name.scrollWidth > name.clientWidth,
    panel.querySelector('[data-testid="data-testid Panel status error"]') !== null,
    panel.querySelector('[aria-label="Panel loading bar"]') !== null,
  ];
})
"""
_NEVER: Final = ("-∞", "Data does not have a time field", "NaN", "Infinity")
_EMPTY_LINES: Final = 3  # the title and the text; a panel with values has more


@dataclass(frozen=True)
class Seen:
    title: str
    text: str
    clipped: bool
    failed: bool
    loading: bool


async def seen_panels(tab: Page) -> list[Seen]:
    return [Seen(*each) for each in await tab.evaluate(_PANELS)]


def faults(
    shown: Collection[Seen], filled: Mapping[str, str], drawn: Collection[str] = ()
) -> Iterator[str]:
    """`filled`: the panels that have data in Prometheus, and the text that each shows without;
    `drawn`: those that must be there."""
    for title in sorted(set(drawn) - {each.title for each in shown}):
        yield f"{title}: is not drawn"
    for each in shown:
        if each.failed:
            yield f"{each.title}: an error badge"
        if each.clipped:
            yield f"{each.title}: its title is clipped"
        for text in _NEVER:
            if text in each.text:
                yield f"{each.title}: shows {text}"
        if each.title in filled and _is_empty(each, filled[each.title]):
            yield f"{each.title}: is empty although there is data"


def _is_empty(seen: Seen, no_value: str) -> bool:
    lines = seen.text.strip().splitlines()
    return len(lines) <= _EMPTY_LINES and lines[-1:] in ([no_value], ["No data"])
