"""Programs that are evaluated at first, and left for the compiled ones in the middle of a loop."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tinyjax import config
from tinyjax._extensions.host import tiers
from tinyjax._extensions.host.tiers import Decision
from tinyjax.core.tracing.jaxpr import Jaxpr

#: What evaluating a program of a search takes at most, about, in seconds.
MOST = 1e-3


@contextmanager
def evaluated_and_left(seed: int) -> Iterator[None]:
    """Evaluate first calls, and leave those with loops of unknown length after a drawn time."""
    rng = np.random.default_rng(seed)
    decide = tiers._decide

    def drawn(jaxpr: Jaxpr) -> Decision:
        decision = decide(jaxpr)
        if decision.seconds == np.inf or not decision.evaluations:
            return decision
        return Decision(decision.evaluations, decision.reason, float(rng.uniform(0, MOST)))

    with pytest.MonkeyPatch.context() as patch, config.scoped(tier="first"):
        patch.setattr(tiers, "_decide", drawn)
        yield
