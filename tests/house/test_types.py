"""The view of a type checker: it accepts some programs in ``tests/typing``, and rejects others."""

import importlib
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tinyjax
from tinyjax.core import api
from tools import checkers


@pytest.mark.slow
def test_mypy_accepts_what_is_right_and_finds_what_is_wrong() -> None:
    found = checkers.report("mypy")
    assert not found.alarms
    # functools.partial of an overloaded function is not known to mypy
    assert {name.split("_with_")[0] for name in found.missed} <= {"jit_by_partial", "jitted_method"}
    assert found.count - len(found.missed) > 250


OF_PARTIAL = "functools.partial of an overloaded function is not known to mypy"
OF_A_LEAF = "what lies in a tree, and where, is known only when the program runs"
#: By the function called, why what it returns holds Any for mypy in ``typing/right.py``.
WHY_ANY_IN_A_CALL = {
    "first": OF_PARTIAL,
    "model.repeat": OF_PARTIAL,
    "source.forward": "a cotangent is None where it is zero",
    "tinyjax.jacobian": "with several argnums, functions without annotations match two overloads",
    "tree.flatten": "with overloads, mypy would not know the structure of what is Any",
    "tree.leaves": OF_A_LEAF,
    "tree.unflatten": OF_A_LEAF,
    "tree_util.tree_flatten": OF_A_LEAF,
    "tree_util.tree_unflatten": OF_A_LEAF,
    "x[0].item": "the type of a number is that of the dtype, which types do not know",
}


@pytest.mark.slow
def test_few_calls_give_any_to_mypy() -> None:
    """Of those that take a lambda, whose parameters are Any, more than one overload matches."""
    types = {
        call: re.sub(r"numpy\.[^|]*\]", "", what) for call, what in checkers.revealed().items()
    }
    of_any = [call for call, what in types.items() if "Any" in what]
    others = [call for call in of_any if "lambda" not in call]
    assert len(types) > 300
    assert {call.split("(")[0] for call in others} == set(WHY_ANY_IN_A_CALL)
    assert len(others) <= 11
    assert len(of_any) - len(others) <= 23


def test_the_package_says_that_it_is_typed() -> None:
    assert tinyjax.__file__ is not None
    assert (Path(tinyjax.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "name",
    [n for n in (*api.__all__, "jit", "default_dtypes") if inspect.isfunction(getattr(tinyjax, n))],
)
def test_public_functions_are_annotated_and_their_annotations_resolve(name: str) -> None:
    function = getattr(tinyjax, name)
    original = inspect.unwrap(function)
    hints = typing.get_type_hints(original)
    assert set(hints) == {*inspect.signature(original).parameters, "return"}


PUBLIC = [
    "tinyjax",
    "tinyjax.numpy",
    "tinyjax.numpy.linalg",
    "tinyjax.numpy.fft",
    "tinyjax.lax",
    "tinyjax.lax.linalg",
    "tinyjax.random",
    "tinyjax.nn",
    "tinyjax.nn.initializers",
    "tinyjax.scipy.linalg",
    "tinyjax.scipy.special",
    "tinyjax.scipy.stats",
    "tinyjax.scipy.signal",
    "tinyjax.scipy.optimize",
    "tinyjax.scipy.ndimage",
    "tinyjax.scipy.interpolate",
    "tinyjax.scipy.fft",
    "tinyjax.scipy.integrate",
    "tinyjax.scipy.sparse.linalg",
    "tinyjax.image",
    "tinyjax.implicit",
    "tinyjax.autodiff",
    "tinyjax.tree",
    "tinyjax.tree_util",
    "tinyjax.flatten_util",
    "tinyjax.ops",
    "tinyjax.dlpack",
    "tinyjax.debug",
    "tinyjax.experimental.sparse",
    "tinyjax.source",
    "tinyjax.cache",
]
OF_THE_FUNCTION = "of whatever type the function given returns, for which there is no variable here"
OF_A_MAPPED_TREE = "a tree like another, with leaves of another type"
OF_LEAVES = "the leaves of a tree may be anything"
OF_SOURCE = "the function is read while the program runs, and so is its signature"
OF_JACOBIANS = "a decorator gives them the types of api.typed.Jacobians"
OF_SOLVERS = "a decorator gives them the types of scipy.sparse.linalg.Solver"
OF_PATTERNS = "a pattern for each pair of a result and an argument, as a tree of them"
NUMPY = "what NumPy's class of limits takes, for any dtype"
#: Why a type checker is told Any of these functions, or of one of their overloads.
WHY_ANY = {
    "tinyjax": {
        "closure_convert": OF_THE_FUNCTION,
        "eval_shape": OF_A_MAPPED_TREE,
        "fwd_and_bwd": OF_THE_FUNCTION,
        "grad": "argnums is known only when the program runs",
        "hessian": OF_JACOBIANS,
        "io_callback": OF_A_MAPPED_TREE,
        "jacfwd": OF_JACOBIANS,
        "jacobian": OF_JACOBIANS,
        "jacrev": OF_JACOBIANS,
        "jvp": "more arguments than overloads",
        "linear_transpose": OF_A_MAPPED_TREE,
        "linearize": "more arguments than overloads",
        "make_jaxpr": OF_A_MAPPED_TREE,
        "pure_callback": OF_A_MAPPED_TREE,
        "value_and_grad": "argnums is known only when the program runs",
        "vjp": "more arguments than overloads",
    },
    "tinyjax.numpy": {
        "finfo": NUMPY,
        "fromfunction": OF_THE_FUNCTION,
        "vectorize": OF_THE_FUNCTION,
    },
    "tinyjax.lax": {
        "custom_linear_solve": OF_THE_FUNCTION,
        "custom_root": OF_THE_FUNCTION,
        "reduce": OF_A_MAPPED_TREE,
        "reduce_window": OF_A_MAPPED_TREE,
    },
    "tinyjax.scipy.sparse.linalg": {"bicgstab": OF_SOLVERS, "cg": OF_SOLVERS},
    "tinyjax.implicit": {
        "fixed_point": "has_aux is known only when the program runs",
        "linear_solve": "has_aux is known only when the program runs",
        "minimize": "has_aux is known only when the program runs",
        "odeint": "has_aux is known only when the program runs",
        "root": "has_aux is known only when the program runs",
    },
    "tinyjax.autodiff": {
        "gauss_newton_vp": "an array or a tuple, by the number of arguments",
        "hessian_sparsity": OF_PATTERNS,
        "hvp": "more arguments than overloads",
        "jacobian_sparsity": OF_PATTERNS,
        "jet": "what the function returns, with lists in the place of its arrays",
        "vjp_from_jvp": "a tuple like the arguments",
    },
    "tinyjax.tree": {
        "flatten_prefix": OF_LEAVES,
        "reduce": OF_LEAVES,
        "reduce_associative": OF_LEAVES,
        "static": "a field of a dataclass has the type of its annotation",
        "unflatten_arguments": OF_LEAVES,
    },
    "tinyjax.tree_util": {
        "flatten_one_level": OF_LEAVES,
        "flatten_one_level_with_keys": OF_LEAVES,
    },
    "tinyjax.experimental.sparse": {"grad": OF_A_MAPPED_TREE, "value_and_grad": OF_A_MAPPED_TREE},
    "tinyjax.source": {
        "evaluate": OF_SOURCE,
        "forward": OF_SOURCE,
        "grad": OF_SOURCE,
        "value_and_grad": OF_SOURCE,
        "vjp": OF_SOURCE,
    },
}


def functions_of(module: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    found = importlib.import_module(module)
    for name in getattr(found, "__all__", dir(found)):
        function = getattr(found, name, None)
        if name.startswith("_") or inspect.isclass(function) or not callable(function):
            continue
        function = inspect.unwrap(function)
        if inspect.isfunction(function) and function.__module__.startswith("tinyjax"):
            yield name, function


def says_any(function: Callable[..., Any]) -> bool:
    said = [f.__annotations__.get("return") for f in typing.get_overloads(function) or [function]]
    return any("Any" in str(annotation) for annotation in said)


@pytest.mark.skipif("TINYJAX_TYPECHECK" in os.environ, reason="typeguard removes the overloads")
def test_no_public_function_returns_any_without_a_reason() -> None:
    untyped: dict[str, set[str]] = {}
    seen: set[Callable[..., Any]] = set()
    for module in PUBLIC:
        for name, function in functions_of(module):
            if function not in seen and says_any(function):
                untyped.setdefault(module, set()).add(name)
            seen.add(function)
    assert len(seen) > 900
    assert untyped == {module: set(names) for module, names in WHY_ANY.items()}
