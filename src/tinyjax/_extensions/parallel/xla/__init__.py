"""Programs for several devices of XLA's, and arrays on them."""

from tinyjax.core.xla import checked_namespace

__all__, __getattr__, __dir__ = checked_namespace(
    __name__,
    {
        "": "lowering moving plugins sharded_executable",
        "lowering": "lowered",
        "plugins": "load",
        "sharded_executable": (
            "call_parts compile=compile_request evaluate flags_for=flags_of put_results "
            "run=run_sharded"
        ),
    },
    "lowering",
)
