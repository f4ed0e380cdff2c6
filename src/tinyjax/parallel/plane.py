"""What the core asks of this plane (``core.elsewhere``), by the modules that know the answers."""

from __future__ import annotations

from tinyjax.lazy import loader

__getattr__ = loader("tinyjax.parallel", {"named_sharding": "resolve"})
