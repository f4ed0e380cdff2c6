"""The settings of ``transfer_guard``: operations by the hundred as JAX has them, and what else."""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config
from tinyjax._extensions.parallel import putting
from tinyjax._extensions.parallel.xla import moving
from tinyjax.core.tracing.trace import base_trace, current_trace
from tinyjax.core.values import operands
from tinyjax.core.values.array import Array
from tinyjax.errors import ArgumentError, JaxRuntimeError, TransferError
from tinyjax.numpy import promotion

PROGRAM = Path(__file__).with_name("transfer_operations.py")
X, N = jnp.array([1.0, 2.0, 3.0]), np.ones(3, np.float32)

#: Where JAX does otherwise, and why it is not so here.
DIFFERENT = {
    "x1 + s": "a number is sent to other devices once, and then known there",
    "float32(n)": "JAX takes the conversion for an explicit transfer",
    "nonzero(b)": "NumPy finds them, without an operation",
    "x.at[:].set(s)": "nothing is chosen",
    "whole_mapped(y8)": "the function is staged, so that its numbers are a program's",
    "whole_mapped(x8)": "NumPy evaluates, so that nothing is moved",
    "jit(folded)(x)": "within a program there are no transfers",
}


#: Into how many parts the operations are divided.
PARTS = 4


def outcomes(library: str, part: int) -> dict[str, list[str]]:
    run = [sys.executable, str(PROGRAM), library, f"{part}/{PARTS}"]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=PROGRAM.parent)
    outcomes_by_name: dict[str, list[str]] = json.loads(done.stdout)
    return outcomes_by_name


@pytest.mark.sampled(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_operations_are_told_of_as_in_jax(part: int) -> None:
    theirs, ours = outcomes("jax", part), outcomes("tinyjax", part)
    different = {name for name in theirs if theirs[name] != ours[name]}
    assert different == ours.keys() & DIFFERENT.keys()
    refused = [name for name in ours if ours[name][0]]
    assert len(ours) > 350 / PARTS - 1
    assert len(ours) / 3 < len(refused) < len(ours) * 2 / 3


@pytest.mark.parametrize(
    ("operation", "named"),
    [
        (lambda: tinyjax.jit(lambda w: w["a"] * 2)({"a": N}), r"w\['a'\] of .*host-to-device"),
        (lambda: jnp.var(X), "host-to-device transfer by var of numbers of its own"),
        (lambda: X + 1, "host-to-device transfer of 1: the guard is 'disallow'"),
        (lambda: jnp.sin(N), r"transfer by sin of array\(\[1., 1., 1.\].*device_put"),
    ],
)
def test_an_error_names_what_would_be_transferred(
    operation: Callable[[], object], named: str
) -> None:
    with tinyjax.transfer_guard("disallow"), raises(TransferError, match=named) as raised:
        operation()
    assert isinstance(raised.value, JaxRuntimeError)


def test_a_guard_holds_for_its_block_and_context() -> None:
    double = tinyjax.jit(lambda x: x * 2)
    before, others = config.settings(), []
    with tinyjax.transfer_guard("disallow"):
        assert config.read("jax_transfer_guard_device_to_host") == "disallow"
        thread = threading.Thread(target=lambda: others.append(double(N)))
        thread.start()
        thread.join()
        with tinyjax.transfer_guard_host_to_device("allow"):
            double(N)
            assert config.read("jax_transfer_guard_device_to_device") == "disallow"
        with tinyjax.transfer_guard(None):
            double(N)
        with pytest.raises(TransferError):
            double(N)
    assert others
    assert config.settings() is before
    assert current_trace() is base_trace()
    double(N)
    with raises(ArgumentError, match="transfers_to_device takes 'allow', 'log'"):
        unchecked(tinyjax.transfer_guard)("never").__enter__()


def test_a_guard_of_the_whole_process() -> None:
    config.update("jax_transfer_guard", "disallow")
    try:
        with pytest.raises(TransferError):
            jnp.sin(N)
    finally:
        config.update("jax_transfer_guard", None)
    assert config.read("jax_transfer_guard") == "allow"
    jnp.sin(N)


@pytest.mark.parametrize("kind", ["host_to_device", "device_to_device", "device_to_host"])
def test_each_direction_has_a_guard(kind: str) -> None:
    elsewhere = tinyjax.device_put(N, tinyjax.devices()[1])
    refused = []
    with getattr(tinyjax, f"transfer_guard_{kind}")("disallow"):
        for way, operation in (
            ("host_to_device", lambda: jnp.sin(N)),
            ("device_to_device", lambda: X + elsewhere),
            ("device_to_host", lambda: np.asarray(elsewhere)),
        ):
            try:
                operation()
            except TransferError as error:
                refused.append((way, error.message.split()[1]))
    direction = kind.replace("_", "-")
    assert refused == [(kind, direction)] * (kind != "device_to_host")  # nothing, on the CPU


def test_transfers_are_logged_with_the_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tinyjax"), tinyjax.transfer_guard("log"):
        jnp.sin(N)
        double = tinyjax.jit(lambda x: x * 2)
        for _ in range(3):
            double(N)
    assert "host-to-device transfer by sin" in caplog.text
    assert caplog.text.count("host-to-device transfer of array") == 3
    assert f"{Path(__file__).name}:" in caplog.text


def test_what_functions_do_stays() -> None:
    given_up = jnp.arange(1000.0) + 1
    with tinyjax.transfer_guard("disallow"):
        result = tinyjax.jit(lambda x: x * 2, donate_argnums=0)(given_up)
        assert given_up.is_deleted()

        def loss(x: Array) -> Array:
            return jnp.sum(jnp.sin(x) ** 2)

        gradient = tinyjax.jit(tinyjax.grad(loss))(X)
    np.testing.assert_array_equal(result, np.arange(1.0, 1001.0, dtype=np.float32) * 2)
    np.testing.assert_allclose(gradient, np.sin(2 * np.asarray(X)), rtol=1e-5)


def test_nothing_of_it_is_left_behind() -> None:
    def places() -> list[object]:
        return [
            operands.copied,
            operands.scalar,
            vars(promotion)["met_splats"],
            putting.put,
            moving.moved,
        ]

    before = places()
    with tinyjax.transfer_guard("disallow"):
        guarded = places()
        with tinyjax.transfer_guard("allow"), tinyjax.enable_x64(True):
            assert places() == guarded
    assert places() == before
    config.update("jax_transfer_guard", "log")
    with tinyjax.transfer_guard("disallow"):
        pass
    assert places() != before
    config.update("jax_transfer_guard", "allow")
    assert list(map(id, places())) == list(map(id, before))
    assert not set(map(id, before)) & set(map(id, guarded))


def test_beside_the_debugger_of_nans() -> None:
    with tinyjax.debug_nans(), tinyjax.transfer_guard("disallow"):
        np.testing.assert_array_equal(X * X, [1.0, 4.0, 9.0])
        with pytest.raises(TransferError):
            jnp.sin(N)
        with pytest.raises(TransferError):
            _ = X + 1.5
        with pytest.raises(TransferError):
            tinyjax.jit(jnp.sin)(N)
