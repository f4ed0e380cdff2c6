"""The errors where control flow cannot be staged: each message whole, and its line.

A case is a function with one mistake; the message names the line marked ``# here``.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from random_programs import compiled
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import source
from tinyjax.errors import (
    ArgumentError,
    BranchTypeError,
    CarryTypeError,
    CheckFailedError,
    ShapeError,
    SourceError,
    TinyjaxError,
    UndecidedError,
)

Function = Callable[[Any], Any]
CASES: list[Any] = []


def add_case(
    error: type[TinyjaxError], message: str, x: Any = 2.5
) -> Callable[[Function], Function]:
    """Add a case."""

    def add(fun: Function) -> Function:
        CASES.append(pytest.param(fun, x, error, message, id=fun.__name__))
        return fun

    return add


BOTH = (
    "Both must be arrays or numbers of one shape, in containers of one structure; anything else "
    "must be the same in both."
)
CHANGES = "whose end depends on a traced value: it is"
ONLY = "Only arrays and numbers may change in such a loop, in containers of one structure."


@add_case(
    BranchTypeError,
    "y depends on the traced condition of line N: it is float32[3] (line N) if that holds, and "
    f"float32[4] (line N) if not. {BOTH}",
)
def shapes_of_two_sides(x: Any) -> Any:
    y = jnp.ones(4)
    if x > 0:  # here
        y = jnp.zeros(3)
    return y


@add_case(
    BranchTypeError,
    "state['n'][1] depends on the traced condition of line N: it is float32[] (line N) if that "
    f"holds, and float32[2] (line N) if not. {BOTH}",
)
def a_part_of_a_container(x: Any) -> Any:
    if x > 0:  # here
        state = {"n": (0, x)}
    else:
        x = x + 1
        state = {"n": (0, jnp.ones(2))}
    return state["n"]


@add_case(
    BranchTypeError,
    "y depends on the traced condition of line N: it is a tuple of length 2 (line N) if that "
    f"holds, and None (line N) if not. {BOTH}",
)
def structures_of_two_sides(x: Any) -> Any:
    y = None
    if x > 0:  # here
        y = (x, x)
    return y


@add_case(
    BranchTypeError,
    "the value chosen depends on the traced condition of line N: it is 'up' (line N) if that "
    f"holds, and 'down' (line N) if not. {BOTH}",
)
def texts(x: Any) -> Any:
    mode = "up" if x > 0 else "down"  # here
    return x * len(mode)


@add_case(
    BranchTypeError,
    "the value chosen depends on the traced condition of line N: it is the function sin (line N) "
    f"if that holds, and the function cos (line N) if not. {BOTH}",
)
def functions(x: Any) -> Any:
    f = math.sin if x > 0 else math.cos  # here
    return f(x)


@add_case(
    BranchTypeError,
    "what returned returns depends on the traced condition of line N: it is a tuple of length 2 "
    f"(line N) if that holds, and float32[] (line N) if not. {BOTH}",
)
def returned(x: Any) -> Any:
    if x > 0:  # here
        return x, x
    return x


@add_case(
    BranchTypeError,
    "the number of a comprehension's items depends on the traced condition of line N, but arrays "
    "have fixed shapes. Choose with a conditional expression (x if c else 0) in place of the "
    "comprehension's if, or with jnp.where.",
)
def filtered(x: Any) -> Any:
    return sum([k * x for k in range(4) if k < x])  # here


@add_case(
    CarryTypeError,
    f"x changes in the loop of line N, {CHANGES} float32[3] before (line N), and float32[6] after "
    "an iteration (line N). Start with an array of the shape that it has later.",
    (1.0, 2.0, 3.0),
)
def growing(xs: Any) -> Any:
    x = jnp.stack(xs)
    while jnp.sum(x) < 100:  # here
        x = jnp.concatenate([x, x])
    return x


@add_case(
    CarryTypeError,
    f"k changes in the loop of line N, {CHANGES} int32[] before (line N), and float32[] after an "
    "iteration (line N). Start with a value of dtype float32, or convert what is computed: "
    ".astype('int32').",
)
def an_integer_array_that_becomes_a_float(x: Any) -> Any:
    k = jnp.int32(0)
    while k < x:  # here
        k = k + 0.5
    return k


@add_case(
    CarryTypeError,
    f"best changes in the loop of line N, {CHANGES} None before (line N), and float32[] after an "
    f"iteration (line N). {ONLY}",
)
def none_before_a_loop(x: Any) -> Any:
    best = None
    while x > 1:  # here
        best = x
        x = x / 2
    return best


@add_case(
    CarryTypeError,
    f"values changes in the loop of line N, {CHANGES} a list of length 0 before (line N), and a "
    f"list of length 1 after an iteration (line N). {ONLY}",
)
def a_list_that_grows(x: Any) -> Any:
    values: list[Any] = []
    while x > 1:  # here
        values = [*values, x]
        x = x / 2
    return sum(values)


@add_case(
    ArgumentError,
    "a condition must be a scalar, but this one is an array of type bool[2]. Reduce it with "
    "jnp.any(...) or jnp.all(...); for a choice element by element use jnp.where.",
)
def a_condition_of_an_array(x: Any) -> Any:
    if jnp.stack([x, x]) > 0:  # here
        return x
    return -x


@add_case(
    SourceError,
    "halved calls itself under a condition that depends on traced values, so how deep it goes is "
    "not known when it is staged. Write a loop, or let a static argument (static_argnums, "
    "static_argnames) end it.",
)
def endless(x: Any) -> Any:
    return halved(x)


def halved(x: Any) -> Any:  # here
    return x if x < 1 else halved(x / 2)


@add_case(
    SourceError,
    "counted calls itself under a condition that depends on traced values, so how deep it goes is "
    "not known when it is staged. Write a loop, or let a static argument (static_argnums, "
    "static_argnames) end it.",
)
def endless_with_a_count(x: Any) -> Any:
    return counted(x, 0)


def counted(x: Any, k: int) -> Any:  # here
    return k if x < 1 else counted(x / 2, k + 1)


@add_case(
    SourceError,
    "a list or a tuple whose length depends on a traced value cannot be made, since arrays have "
    "fixed shapes. Loop over the items, or compute with masks (jnp.where).",
    3,
)
def a_list_of_a_traced_range(n: Any) -> Any:
    return list(range(n))  # here


@add_case(
    ShapeError,
    "add: incompatible shapes for broadcasting: (2,) and (3,). Counted from the last axis, "
    "sizes must be equal or 1.",
)
def a_mistake_within_a_side(x: Any) -> Any:
    y = jnp.stack([x, x])
    if x > 0:
        y = y + jnp.ones(3)  # here
    return y


@add_case(CheckFailedError, "ValueError: too big, at <float32[]>")
def raising(x: Any) -> Any:
    if x > 2:
        raise ValueError(f"too big, at {x}")  # here
    return x


@add_case(CheckFailedError, "AssertionError")
def asserting(x: Any) -> Any:
    assert x < 2  # here
    return x


# Variables without a value, which type checkers do not let pass.

one_side_only = compiled("""
def program(x):
    if x > 0:  # here
        y = x
    return y
""")
add_case(
    BranchTypeError,
    "y has a value (line N) only if the traced condition of line N holds, and is used afterwards. "
    "Give it a value of the same type before, or in both cases.",
)(one_side_only)

other_side_only = compiled("""
def program(x):
    if x > 0:  # here
        pass
    else:
        y = (x, 1)
    return y
""")
add_case(
    BranchTypeError,
    "y has a value (line N) only if the traced condition of line N does not hold, and is used "
    "afterwards. Give it a value of the same type before, or in both cases.",
)(other_side_only)

defined_in_a_loop = compiled("""
def program(x):
    while x > 1:  # here
        y = x
        x = x / 2
    return y
""")
add_case(
    CarryTypeError,
    "y has no value before the loop of line N, which may run no iteration since its end depends on "
    "a traced value, and is used in the next iteration or afterwards. Give it a value of the "
    "same type before the loop.",
)(defined_in_a_loop)

unbound_on_one_side = compiled("""
def program(x):
    if x > 2:
        x = y  # here
        y = x
    return x
""")
add_case(
    CheckFailedError,
    "UnboundLocalError: cannot access local variable 'y' where it is not associated with a value",
)(unbound_on_one_side)


@pytest.mark.parametrize(("fun", "x", "error", "message"), CASES)
def test_message(fun: Function, x: Any, error: type[TinyjaxError], message: str) -> None:
    with pytest.raises(error) as caught:
        tinyjax.jit(fun, control_flow="source")(x)
    assert type(caught.value) is error
    assert re.sub(r"line \d+", "line N", caught.value.message) == message
    assert caught.value.location is not None
    assert caught.value.location.filename == fun.__code__.co_filename
    assert str(caught.value).endswith("# here")


def test_a_value_needed_by_python_names_the_line() -> None:
    def shaped(n: Any) -> Any:
        while n < 10:
            n = n + len(("a", "bb")[n % 2])  # here
        return n

    with pytest.raises(UndecidedError) as caught:
        tinyjax.make_jaxpr(source.stage(shaped))(3)
    assert str(caught.value.__cause__).endswith("# here")
    assert tinyjax.jit(shaped, control_flow="source")(3) == shaped(3)


def named_lines(fun: Function, x: Any) -> list[int]:
    """The lines that a message names, counted from that of ``def``."""
    with pytest.raises(TinyjaxError) as caught:
        tinyjax.jit(fun, control_flow="source")(x)
    found = re.findall(r"line (\d+)", caught.value.message)
    return [int(n) - fun.__code__.co_firstlineno for n in found]


def test_both_lines_are_those_of_the_assignments() -> None:
    def sides(x: Any) -> Any:
        y = z = x
        if x > 0:
            y = z
        else:
            z = 1.0
            y = (z, x)
        return y

    def early(x: Any) -> Any:
        if x > 0:
            return x

        return (x, x)

    def loop(x: Any) -> Any:
        y = z = x
        while x > 1:
            x = x / 2
            if x > 2:
                y = (z, x)
        return y

    def carried(x: Any) -> Any:
        y = jnp.ones(1)
        z = jnp.ones(2)
        while x > 1:
            x = x / 2
            y = z
        return y

    assert named_lines(sides, 2.5) == [2, 3, 6]
    assert named_lines(early, 2.5) == [1, 2, 4]
    assert named_lines(loop, 2.5) == [4, 5, 1]
    assert named_lines(carried, 2.5) == [3, 1, 5]


def test_exceptions_of_python_say_where_they_come_from() -> None:
    count: Any = 3

    def wrong(x: Any) -> Any:
        return len(count) + x  # here

    with pytest.raises(TypeError) as caught:
        tinyjax.jit(wrong, control_flow="source")(1.0)
    assert caught.value.__notes__[0].endswith("# here")


@pytest.mark.wrong_types
@pytest.mark.parametrize("value", ["jax", None, [], 1])
def test_control_flow_is_python_or_source(value: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        unchecked(tinyjax.jit)(halved, control_flow=value)
    shown = "None" if value is None else f"{value!r} ({type(value).__name__})"
    assert caught.value.message == (
        f"control_flow of jit must be 'python' or 'source', but got {shown}."
    )


@pytest.mark.wrong_types
def test_stage_takes_a_function() -> None:
    with pytest.raises(ArgumentError) as caught:
        unchecked(source.stage)(3)
    assert caught.value.message == "fun of stage must be a function (callable), but got 3 (int)."
