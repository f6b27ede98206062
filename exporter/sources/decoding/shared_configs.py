"""Equal configurations as one object: most consumers of a large system differ by their name alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.model import ConsumerConfig

# Where nearly all differ there is nothing to share; then what was kept is forgotten now and then.
_MOST = 100_000


@dataclass(slots=True)
class SharedConfigs:
    _known: dict[ConsumerConfig, ConsumerConfig] = field(default_factory=dict)

    def of(self, config: ConsumerConfig) -> ConsumerConfig:
        if len(self._known) >= _MOST:
            self._known.clear()
        return self._known.setdefault(config, config)
