"""The first mistakes of newcomers from Python, NumPy or PyTorch, and their messages."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tinyjax.numpy as jnp
from raising import raises
from tinyjax import grad, jit, lax, random, tree, vmap

x: Any = jnp.arange(3.0)
key = random.key(0)


def untyped(value: object) -> Any:
    """Return a value whose type no checker knows."""
    return value


def write(x: Any) -> Any:
    x[0] = 1.0
    return x


def delete(x: Any) -> None:
    del x[0]


def forgets_to_return(x: Any) -> Any:
    jnp.sum(x)


def returns_more(x: Any) -> Any:
    return jnp.sum(x), jnp.max(x)


def keeps(x: Any) -> Any:
    leaks.append(x)
    return x


leaks: list[Any] = []
COLUMN = pd.Series([1.0, 2.0, 3.0])

#: The mistake, and words of its error: what is wrong, or what to write.
MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "write": (lambda: write(x), r"x = x\.at\[index\]\.set\(value\)"),
    "write under jit": (lambda: jit(write)(x), r"x = x\.at\[index\]\.set\(value\)"),
    ".numpy()": (lambda: x.numpy(), r"np\.asarray\(x\)"),
    ".detach()": (lambda: x.detach(), "stop_gradient"),
    ".backward()": (lambda: x.sum().backward(), r"tinyjax\.grad\(f\)\(x\)"),
    ".to": (lambda: x.to("cpu"), r"x\.astype\(dtype\)"),
    ".cuda()": (lambda: x.cuda(), "device_put"),
    ".append": (lambda: x.append(1.0), r"jnp\.append"),
    ".unsqueeze": (lambda: x.unsqueeze(0), r"jnp\.expand_dims"),
    ".fill": (lambda: x.fill(0.0), r"jnp\.full_like"),
    "a generator": (lambda: jnp.array(untyped(iter([1]))), r"jnp\.array\(list"),
    "a ragged list": (lambda: jnp.array([[1, 2], [3]]), "equal lengths"),
    "a list for an array": (lambda: jnp.sum(untyped([x, x])), r"jnp\.asarray"),
    "a list for an example": (lambda: jnp.zeros_like(untyped([1])), r"zeros_like: .*jnp\.asarray"),
    "arrays that are no list": (lambda: jnp.concatenate(x, x), r"concatenate\(\[x, y\]\)"),
    "a seed for a key": (lambda: random.normal(untyped(3)), r"tinyjax\.random\.key\(seed\)"),
    "a shape for a key": (lambda: random.normal(untyped((3,))), r"takes a key first"),
    "no key": (lambda: random.normal(*untyped(())), "'key'"),
    "arithmetic with keys": (lambda: key + 1, "split, fold_in or normal"),
    "if": (lambda: jit(lambda x: 1 if x > 0 else 2)(1.0), r"jnp\.where or lax\.cond"),
    "for": (lambda: jit(lambda n: [*range(n)])(3), r"lax\.fori_loop"),
    "int": (lambda: jit(lambda x: int(x))(1.0), r"x\.astype\(int\)"),
    "float": (lambda: vmap(lambda x: float(x))(x), "Keep the array: NumPy's functions and tinyjax"),
    "a shape of traced numbers": (lambda: jit(lambda n: jnp.zeros(n))(3), r"static_argnums"),
    "a traced slice": (lambda: jit(lambda n: x[:n])(2), r"lax\.dynamic_slice"),
    "a traced mask": (lambda: jit(lambda x: x[x > 0])(x), r"jnp\.where\(mask, x, y\)"),
    "np.array under jit": (lambda: jit(lambda x: np.array([x]))(1.0), r"Write jnp\.array"),
    "a format": (lambda: jit(lambda x: f"{x:.2f}")(1.0), r"tinyjax\.debug\.print"),
    "a leak": (lambda: (jit(keeps)(1.0), leaks[0] + 1), "return it from the function"),
    "a list for a static argument": (
        lambda: jit(lambda x, n: x, static_argnums=1)(x, [1]),
        "Pass a tuple",
    ),
    "an axis that is not there": (
        lambda: vmap(lambda x, y: x, in_axes=(0, 1))(x, x),
        "in_axes of y",
    ),
    "too few axes": (lambda: vmap(lambda x, y: x, in_axes=(0,))(x, x), "Give an axis"),
    "sizes that differ": (lambda: vmap(jnp.add)(x, jnp.ones(4)), "Make the sizes equal"),
    "grad of an int": (lambda: grad(lambda x: x**2)(3), r"\.astype\(float\)"),
    "grad of a vector": (lambda: grad(lambda x: x**2)(x), r"jnp\.sum"),
    "grad of nothing": (lambda: grad(forgets_to_return)(x), "Is a return statement missing"),
    "grad of two": (lambda: grad(returns_more)(x), "has_aux=True"),
    "keys that do not sort": (lambda: tree.leaves({1: x, "a": x}), "OrderedDict"),
    "a text": (lambda: jit(lambda s: s)("a"), r"static argument of jit"),
    "a carry alone": (lambda: lax.scan(lambda c, x: c, 0.0, x), r"Return \(carry, None\)"),
    "a list as an index": (lambda: x[[0, 1]], r"jnp\.array"),
    "the truth of many": (lambda: 1 if x > 0 else 2, r"jnp\.any or jnp\.all"),
    "an element deleted": (lambda: delete(x), r"x = jnp\.delete\(x, index\)"),
    "equal to a list": (lambda: x == [0.0, 1.0, 2.0], r"list: \[0.0.*jnp\.asarray"),
    "equal to a tuple": (lambda: x != (0.0,), r"tuple: \(0.0,\).*jnp\.asarray"),
    "many numbers in one format": (lambda: f"{x:.2f}", r"jnp\.array_str"),
    "a column of pandas": (lambda: jnp.sum(untyped(COLUMN)), r"Series: 0 1.0 1 2.0.*jnp\.asarray"),
    "a mask of pandas": (lambda: x[COLUMN > 1], r"jnp\.asarray"),
    "a dict for an array": (lambda: x * untyped({"a": 1}), r"tinyjax\.tree\.map"),
    "a set for an array": (lambda: jnp.array(untyped({1})), r"jnp\.array\(list"),
    "sizes for a shape": (lambda: jnp.zeros(2, untyped(3)), r"\(2, 3\)"),
    "jnp.random": (lambda: untyped(jnp).random.normal(3), r"tinyjax\.random"),
    "jnp.cat": (lambda: untyped(jnp).cat([x, x]), "concatenate"),
    "more than a loss": (lambda: grad(untyped(lambda x: (jnp.sum(x), x)))(x), "has_aux=True"),
    "one branch": (lambda: lax.switch(0, untyped(abs), x), "a sequence of functions"),
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.wrong_types
def test_first_mistakes_are_explained(name: str) -> None:
    call, answer = MISTAKES[name]
    with raises((TypeError, ValueError, AttributeError, IndexError), match=answer):
        call()


def test_what_looks_wrong_and_works() -> None:
    assert jnp.array(range(3)).tolist() == [0, 1, 2]
    assert random.normal(key, 3).shape == (3,)
    assert [float(row) for row in x] == [0.0, 1.0, 2.0]
    assert max(x) == 2.0
    assert 1.0 in x


def test_pandas_is_given_arrays_of_numpy() -> None:
    """``isin`` looks elements up by their hash, which arrays have not, and does not complain."""
    series = pd.Series([1.0, 2.0, 9.0])
    assert series.isin(np.asarray(x)).tolist() == [True, True, False]
    assert pd.DataFrame({"a": x})["a"].tolist() == [0.0, 1.0, 2.0]
