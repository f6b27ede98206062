"""Shares equal consumer configurations: in a large system most consumers differ only by name."""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.model import ConsumerConfig

# Above this number there is little to share: clear the cache, so that it stays bounded.
_MOST = 100_000


@dataclass(slots=True)
class SharedConfigs:
    _known: dict[ConsumerConfig, ConsumerConfig] = field(default_factory=dict)

    def of(self, config: ConsumerConfig) -> ConsumerConfig:
        if len(self._known) >= _MOST:
            self._known.clear()
        return self._known.setdefault(config, config)
