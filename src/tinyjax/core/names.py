"""The core's modules by their short names, and its chief classes, for the rooms that stand on it.

``from tinyjax.core.names import Array, av, ew`` loads what it names and nothing else. Files of the
core import each other from their folders, whose order import-linter checks.
"""

from __future__ import annotations

from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.core": "api dev=devices discovery jt=jit low=lowering xla",
        "tinyjax.core.api": "arguments derivatives jacobians mapping typed",
        "tinyjax.core.control_flow": "cf=common cfp=primitives cond loops sc=scan wl=while_loop",
        "tinyjax.core.jit": "program sig=signatures stages",
        "tinyjax.core.primitives": (
            "bc=broadcast ew=elementwise fam=families idn=identities rd=reduce ru=rules sh=shape "
            "sl=slicing"
        ),
        "tinyjax.core.stablehlo": "Lowering Value Values builder hlo=types lw=lowering",
        "tinyjax.core.tracing": (
            "Primitive Tracer bind bind1 ck=checking cl=calling encoding jx=jaxpr pr=program_rules "
            "prim=primitive stg=staging tr=trace"
        ),
        "tinyjax.core.transforms": "bt=batching jv=jvp lz=linearize tp=transpose",
        "tinyjax.core.values": (
            "Array ArrayLike ConcreteArray ShapedArray arr=array av=avals conc=concrete "
            "ints=integers opd=operands"
        ),
    },
)
