"""Quick compilation of the tests, since each of many small programs runs once."""

from typing import Final

from tinyjax.core.xla.versions import PLAIN_LOOPS

# LLVM's optimisation, and the lowering by way of MLIR of what XLA fuses, are two thirds of the time
# of a compilation (docs/jaxlib.md); cutting a module up for several threads takes a fifth of
# the rest. XLA ends the process at a flag that it does not know.
_CHOSEN: Final = (
    ("xla_backend_optimization_level", 0),
    *PLAIN_LOOPS,
    ("xla_cpu_parallel_codegen_split_count", 1),
)

#: The flags, as the environment variable XLA_FLAGS has them.
FLAGS: Final = " ".join(f"--{name}={str(value).lower()}" for name, value in _CHOSEN)
