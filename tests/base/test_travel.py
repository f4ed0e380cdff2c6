"""Functions and errors that travel between processes, by every pickler."""

import copy
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

import dill
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import errors, lax
from tinyjax._base import frames
from tinyjax._base.pickling import home_of
from tinyjax.errors import AxisError, TinyjaxError
from tinyjax.tree import errors as tree_errors

#: What errors are made of, by the name of the parameter or its type.
ARGUMENTS: Final[dict[str, Any]] = {
    "str": "of it",
    "int": 3,
    "bool": True,
    "tuple[int, ...]": (1, 2),
    "tuple[object, ...]": ("a", 2),
    "frames.Location | None": frames.Location("model.py", 3, "loss"),
    "frames.Direction": "backward",
    "Sequence[str]": ["a", "b"],
    "type": dict,
    "object": None,
    "BaseException": ValueError("why"),
}
ERRORS: Final = [
    kind
    for module in (errors, tree_errors)
    for kind in vars(module).values()
    if isinstance(kind, type)
    and issubclass(kind, TinyjaxError)
    and kind.__module__ == module.__name__
]


def made(kind: type[TinyjaxError]) -> TinyjaxError:
    parameters = inspect.signature(kind).parameters.values()
    error = kind(*[ARGUMENTS[str(parameter.annotation)] for parameter in parameters])
    error.add_note("a note")
    return error


def raise_(error: Exception) -> None:
    raise error


def described(error: BaseException) -> tuple[object, ...]:
    data = {name: str(value) for name, value in vars(error).items()}
    return type(error), str(error), error.args, data


def test_errors_are_pickled_and_copied() -> None:
    for kind in ERRORS:
        error = made(kind)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert described(pickle.loads(pickle.dumps(error, protocol))) == described(error)
        assert described(copy.copy(error)) == described(copy.deepcopy(error)) == described(error)


@pytest.mark.slow
def test_errors_reach_the_parent() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        sent = [made(kind) for kind in ERRORS]
        for error, future in [(error, pool.submit(raise_, error)) for error in sent]:
            came = future.exception(timeout=60)
            assert came is not None
            assert described(came) == described(error)
        with raises(AxisError, match="axis 2 is out of bounds") as caught:
            pool.submit(jnp.sum, np.ones(3), axis=2).result(timeout=60)
        assert (caught.value.axis, caught.value.ndim) == (2, 1)


#: Its source is read where it is differentiated, which is no more than in the file of its code.
OF_SOURCE: Final = {("source.grad", "cloudpickle"), ("source.value_and_grad", "cloudpickle")}


@pytest.mark.slow
def test_functions_of_a_script_are_called_in_another_process(tmp_path: Path) -> None:
    # dill takes packages for the user's own that are not installed
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "tinyjax").symlink_to(Path(tinyjax.__file__).parent)
    program = Path(__file__).with_name("travellers.py")
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, str(program), str(tmp_path / "pickles")]
    subprocess.run(command, env=environment, check=True, timeout=200)
    failures: list[str] = []
    travels = pickle.loads((tmp_path / "pickles").read_bytes())
    assert len(travels) > 60
    for name, rows in travels.items():
        for by, data, args, expected in rows:
            loads: Callable[[bytes], Any] = dill.loads if by == "dill" else pickle.loads
            try:
                results = tinyjax.tree.leaves(loads(data)(*args))
                for found, wanted in zip(results, expected, strict=True):
                    # one process may compile what another evaluates, which rounds otherwise
                    if np.asarray(wanted).dtype.kind in "fc":
                        np.testing.assert_allclose(found, wanted, 1e-6)
                    else:
                        np.testing.assert_array_equal(found, wanted)
            except Exception as error:
                if (name, by) not in OF_SOURCE:
                    why = data if isinstance(data, str) else repr(error)
                    failures.append(f"{name} by {by}: {why}")
    assert not failures


def test_a_primitive_is_the_same_in_every_process() -> None:
    for primitive in (lax.sin_p, lax.scan_p, lax.dot_general_p):
        assert home_of(primitive) is not None
        assert pickle.loads(pickle.dumps(primitive)) is primitive
    jaxpr = tinyjax.make_jaxpr(jnp.sin)(1.0)
    again = pickle.loads(pickle.dumps(jaxpr))
    assert again.jaxpr == jaxpr.jaxpr
    assert again.eqns[0].primitive is lax.sin_p
    (source,), (known,) = ([eqn.source for eqn in x.eqns] for x in (again, jaxpr))
    assert source is not None
    assert known is not None
    assert source.location == known.location
