"""Printing, breakpoints, flags and checks while programs run."""

import io
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any


def prints(jax: Any) -> Any:
    out = io.StringIO()
    with redirect_stdout(out):

        @jax.jit
        def f(x: Any) -> Any:
            jax.debug.print("x = {x}, twice: {}", 2 * x, x=x)
            y = jax.numpy.sin(x)
            jax.debug.print("shape {s}", s=y.shape, ordered=True)
            return y

        f(2)
        jax.effects_barrier()
    return sorted(out.getvalue().splitlines())


def branches(jax: Any) -> Any:
    out = io.StringIO()
    with redirect_stdout(out):

        @jax.jit
        def f(x: Any) -> Any:
            return jax.lax.cond(
                x > 0,
                lambda x: (jax.debug.print("positive {x}", x=x), x)[1],
                lambda x: (jax.debug.print("negative {x}", x=x), -x)[1],
                x,
            )

        f(2.0)
        f(-2.0)
        jax.effects_barrier()
    return sorted(out.getvalue().splitlines())


def checks(jax: Any) -> Any:
    checkify = import_module(f"{jax.__name__}.experimental.checkify")
    jnp = jax.numpy

    def f(x: Any, i: Any) -> Any:
        checkify.check(i >= 0, "index needs to be non-negative, got {i}", i=i)
        y = x[i]
        z = jnp.sin(y)
        return z

    f_checked = jax.jit(checkify.checkify(f))
    err, _ = f_checked(jnp.ones((5,)), -2)
    automatic = checkify.user_checks | checkify.index_checks | checkify.float_checks
    err2, _ = jax.jit(checkify.checkify(f, errors=automatic))(jnp.ones((5,)), 100)
    err3, _ = checkify.checkify(f, errors=automatic)(jnp.array([jnp.inf, 1]), jnp.int32(0))
    err4, _ = jax.vmap(checkify.checkify(lambda x: jnp.log(x), errors=checkify.nan_checks))(
        jnp.array([1.0, -1.0])
    )
    thrown = ""
    try:
        checkify.check_error(err)
    except checkify.JaxRuntimeError as error:
        thrown = str(error).split("\n", maxsplit=1)[0]

    def body(i: Any) -> Any:
        checkify.check(i < 3, "i must be < 3, is {i}", i=i)
        return i + 1

    err5, _ = checkify.checkify(lambda: jax.lax.while_loop(lambda i: i < 5, body, jnp.int32(0)))()
    return err.get(), err2.get(), err3.get(), err4.get(), thrown, err5.get()


def flags(jax: Any) -> Any:
    outcomes: list[Any] = []
    jax.config.update("jax_debug_nans", True)
    try:
        float(jax.jit(jax.numpy.sqrt)(-1.0))
    except FloatingPointError:
        outcomes.append("nan")
    finally:
        jax.config.update("jax_debug_nans", False)
    with jax.disable_jit():
        outcomes.append(type(jax.jit(lambda x: float(x) + 1)(1.0)).__name__ != "")
    with jax.checking_leaks():
        leaked: list[Any] = []
        try:
            jax.jit(lambda x: leaked.append(x))(1.0)
        except Exception as error:
            outcomes.append("leak" in str(error).lower() or "live" in str(error))
    return outcomes


def leaks(jax: Any) -> Any:
    leaks: list[Any] = []

    @jax.jit
    def f(x: Any) -> Any:
        leaks.append(x)
        return x

    f(1.0)
    try:
        leaks[0] + 1
    except jax.errors.UnexpectedTracerError:
        return "leaked"
    return "no error"


def breakpoints(jax: Any) -> Any:
    if jax.__name__ == "jax":  # whose debugger reads from the terminal
        return [1.0]
    seen: list[float] = []
    before = sys.breakpointhook

    def hook() -> None:
        seen.append(float(sys._getframe(1).f_locals["x"]))

    sys.breakpointhook = hook
    try:

        @jax.jit
        def f(x: Any) -> Any:
            jax.debug.breakpoint()
            return x + 1

        f(1.0)
    finally:
        sys.breakpointhook = before
    return seen
