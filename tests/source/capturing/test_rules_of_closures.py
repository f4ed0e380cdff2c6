"""Functions with rules of their own, which close over traced values, in captured programs."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

POINT: Final = np.array([0.7, 0.31, 1.43, 0.52])
#: What defines ``v``, by a function that closes over ``x``, ``w``, ``ok``, or nothing traced.
CALLS: Final = {
    "custom_jvp": """
    h = tinyjax.custom_jvp(lambda y: jnp.sin(y) * {factor})
    h.defjvp(lambda p, t: (h(p[0]), jnp.cos(p[0]) * t[0] * {factor}))
    v = h(x[1] * 2)""",
    "custom_vjp": """
    h = tinyjax.custom_vjp(lambda y: jnp.sin(y) * {factor})
    h.defvjp(lambda y: (h(y), y), lambda y, ct: (jnp.cos(y) * ct * {factor},))
    v = h(x[1] * 2)""",
    "custom_root": """
    v = lax.custom_root(
        lambda t: x[1] - {factor} * t,
        lax.stop_gradient(x[1]) / lax.stop_gradient({factor}),
        lambda _, t: t * 1.0,
        lambda s, y: y / jnp.where(ok, s(jnp.ones_like(y)), 1.0),
    )""",
    "custom_linear_solve": """
    v = lax.custom_linear_solve(
        lambda t: {factor} * t, x[1], lambda _, b: b / {factor}, lambda _, b: b / {factor}
    )""",
    "custom_vmap": """
    h = tinyjax.custom_batching.custom_vmap(lambda y: jnp.sin(y) * {factor})
    h.def_vmap(lambda size, batched, y: (jnp.sin(y) * {factor}, batched[0]))
    v = h(x[1] * 2)""",
    "checkpoint": """
    v = tinyjax.checkpoint(lambda y: jnp.sin(y) * {factor})(x[1] * 2)""",
    "while_loop": """
    v = lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * {factor}, x[1] * 2)""",
    "cond": """
    v = lax.cond(ok, lambda y: jnp.sin(y) * {factor}, lambda y: y, x[1] * 2)""",
}
FACTORS: Final = ("x[0]", "w", "jnp.where(ok, 2.0, 3.0)", "2.0")
#: What the program decides, if anything, by which values.
RESULTS: Final = ("v * 2", "v * 2 if v > -9 else v", "v * 2 if x[2] > 0 else v")
MODULE: Final = """
import numpy as np
import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax

def f(x):
    ok = x[2] < 5
    w = jnp.exp(x[0])
{call}
    return {result} + x[3]
"""
TRANSFORMS: Final[dict[str, Callable[[Any], Any]]] = {
    "grad of capture": lambda f: tinyjax.grad(source.capture(f)),
    "jit of grad": lambda f: tinyjax.jit(tinyjax.grad(source.capture(f))),
    "grad of jit": lambda f: tinyjax.grad(tinyjax.jit(source.capture(f))),
    "source.grad": source.grad,
    "staged": lambda f: tinyjax.grad(tinyjax.jit(f, control_flow="source")),
    "vmap": lambda f: lambda x: tinyjax.vmap(tinyjax.grad(source.capture(f)))(x[None])[0],
}
CASES: Final = [*product(CALLS, FACTORS, RESULTS)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "factor", "result"), CASES)
def test_derivatives_are_those_of_the_program(
    name: str, factor: str, result: str, tmp_path: Path
) -> None:
    """They are those of differences; a rule for batches may not close over what is mapped."""
    text = MODULE.format(call=CALLS[name].format(factor=factor), result=result)
    f = module_of(text, tmp_path / "program.py").f
    steps = 1e-6 * np.eye(4)
    expected = [(f(POINT + step) - f(POINT - step)) / 2e-6 for step in steps]
    for what, transform in TRANSFORMS.items():
        if (name, what) == ("custom_vmap", "vmap") and factor != "2.0":
            with pytest.raises(tinyjax.errors.ArgumentError, match="closes over a value that"):
                transform(f)(POINT)
            continue
        np.testing.assert_allclose(transform(f)(POINT), expected, atol=1e-7, err_msg=what)
