import enum

from jaxlib.mlir.ir import Context

class StablehloCompatibilityRequirement(enum.Enum):
    NONE = 0
    WEEK_4 = 1
    WEEK_12 = 2
    MAX = 3

def get_version_from_compatibility_requirement(
    requirement: StablehloCompatibilityRequirement,
) -> str: ...
def get_current_version() -> str: ...
def register_stablehlo_passes() -> None: ...
def register_dialect(context: Context, load: bool = ...) -> None: ...
