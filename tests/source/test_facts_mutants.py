"""Wrong rows in the tables of facts: the checks of ``test_facts`` find each of them.

Each function of NumPy's that a table has not is put into it, and each row is left out: what the
calls of ``test_facts`` say of a function is compared with the table. Where they agree with a row
that is not there, the row would be right, and the function is named here.
"""

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pytest
import test_facts
from capturing import comparing
from numpy_calls import X
from test_facts import CALLS, LAYOUTS, outcomes

from tinyjax.source import facts
from tinyjax.source.ir import runtime

#: Functions that ask nothing of arrays, or read and write files.
UNASKED: Final = """
test fft.test linalg.test show_config show_runtime info save savez savetxt savez_compressed load
fromfile loadtxt genfromtxt setbufsize seterr seterrcall set_printoptions frompyfunc fromregex
get_include get_printoptions getbufsize geterr geterrcall printoptions datetime_data
"""
HOMES: Final = ("", "fft.", "linalg.", "lib.stride_tricks.", "lib.scimath.")


def functions() -> Iterator[tuple[str, Any]]:
    """Yield the functions of NumPy's that are no ufuncs, by their names."""
    for home in HOMES:
        module: Any = np
        for part in home.split(".")[:-1]:
            module = getattr(module, part)
        for name in dir(module):
            function = getattr(module, name)
            is_one = callable(function) and not isinstance(function, (type, np.ufunc))
            if is_one and not name.startswith("_") and home + name not in UNASKED.split():
                yield home + name, function


FUNCTIONS: Final = dict(functions())
METHODS: Final = [
    name for name in dir(np.ndarray) if name[0] != "_" and callable(getattr(np.ndarray, name))
]
#: The calls of each function and method, without ``out``.
BY_FUNCTION: Final = {
    key: [text for function, text, _, names in CALLS if function is key and "out" not in names]
    for key in (*FUNCTIONS.values(), *METHODS)
    if runtime.is_in(key, {call[0]: 0 for call in CALLS})
}


def sharing(key: Any) -> set[bool]:
    """Return whether results of a function's calls share memory: once, now and then, or never."""
    return {shares for text in BY_FUNCTION.get(key, ()) for _, shares in outcomes(text)}


def names_of(table: Any, keys: Iterable[tuple[str, Any]]) -> set[str]:
    return {name for name, key in keys if runtime.is_in(key, table)}


#: Functions whose results share nothing, of which no program needs to be sure.
FRESH_TOO: Final = "fromiter mask_indices polydiv row_stack"
#: Functions of FRESH whose results are no arrays.
NUMBERS: Final = "array_equal array_equiv vdot"


@pytest.mark.fuzz
def test_each_wrong_row_of_fresh_is_found() -> None:
    """The table has what shares nothing in any call, and nothing else."""
    known = names_of(facts.FRESH, FUNCTIONS.items())
    fresh = {name for name, key in FUNCTIONS.items() if sharing(key) == {False}}
    assert fresh - known == set(FRESH_TOO.split())
    assert known - fresh == set(NUMBERS.split())


#: Functions that give views of other arguments. Those of ``atleast_1d`` are several results.
NOT_OF_THE_FIRST: Final = """
apply_over_axes atleast_1d atleast_3d broadcast_arrays einsum ix_ meshgrid
"""


def shares_with_others(text: str) -> bool:
    """Return whether a result shares memory with another argument than the first."""
    node: Any = ast.parse(text, mode="eval").body
    for statement in LAYOUTS.values():
        scope: dict[str, Any] = {**comparing.SCOPE, "a": X.copy()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(statement, scope)
                values = [eval(ast.unparse(arg), scope) for arg in node.args]
                result = eval(text, scope)
            except Exception:  # NumPy refuses it
                continue
        others = [y for y in values[1:] if isinstance(y, np.ndarray) and y.size]
        is_list = isinstance(result, (list, tuple))
        parts = [y for y in (result if is_list else [result]) if isinstance(y, np.ndarray)]
        if any(np.shares_memory(part, y) for part in parts if part.size for y in others):
            return True
    return False


#: Functions that give the argument, a view or a copy, as options or values say.
AT_TIMES: Final = """
array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray asmatrix
astype diag diff fft.fft2 fft.fftn fft.ifft2 fft.ifftn frombuffer from_dlpack
linalg.matrix_power nan_to_num polyder polyint real_if_close require trim_zeros
"""


@pytest.mark.fuzz
def test_each_wrong_row_of_views_is_found() -> None:
    """Views are of the first argument, and functions that do not share are none."""
    sharing_ones = {name for name, key in FUNCTIONS.items() if True in sharing(key)}
    with_others = {
        name for name in sharing_ones if any(map(shares_with_others, BY_FUNCTION[FUNCTIONS[name]]))
    }
    known = names_of(facts.VIEWS, FUNCTIONS.items())
    assert with_others == set(NOT_OF_THE_FIRST.split())
    assert known <= sharing_ones
    assert sharing_ones - with_others - known == set(AT_TIMES.split())


def test_each_wrong_row_of_methods_is_found() -> None:
    fresh = {name for name in METHODS if sharing(name) == {False}}
    shared = {name for name in METHODS if True in sharing(name)}
    assert fresh - facts.FRESH_METHODS == {"byteswap"}
    assert facts.FRESH_METHODS - fresh == {"argpartition", "item", "tolist", "trace"}
    assert shared.isdisjoint(facts.FRESH_METHODS)
    assert shared - facts.VIEW_METHODS == {"astype", "conj", "conjugate", "getfield", "to_device"}
    assert shared >= facts.VIEW_METHODS


@pytest.mark.parametrize("function", facts.FRESH_WITHOUT)
@pytest.mark.parametrize("wrong", ["an option", "a position"])
def test_each_wrong_option_is_found(
    function: Any, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some call shares memory that another option, or a later position, says to share none."""
    option, place = facts.FRESH_WITHOUT[function]
    row = ("other", 99) if wrong == "an option" else (option, place + 1)
    monkeypatch.setattr(facts, "FRESH_WITHOUT", {**facts.FRESH_WITHOUT, function: row})
    found = any(
        shares
        for key, text, count, names in CALLS
        if key is function or key == function
        if facts.is_fresh(key, count, names)
        for _, shares in outcomes(text)
    )
    assert found or (wrong, option) in LATER


#: Positions behind which nobody writes an option.
LATER: Final = {("a position", "copy"), ("a position", "n")}


def passes(check: Callable[[Any], None], function: Any) -> bool:
    """Return whether a check finds nothing wrong with a function."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            check(function)
        except (Exception, AssertionError):
            return False
    return True


#: Functions that are steps, too, for all or for real numbers.
STEPS_TOO: Final = """
argsort argwhere around fix flatnonzero heaviside signbit spacing
"""


def test_each_wrong_row_of_steps_and_choosing_is_found() -> None:
    ufuncs = {name: f for name, f in vars(np).items() if isinstance(f, np.ufunc)}
    for check, table, others in (
        (test_facts.test_steps, facts.STEPS, set(STEPS_TOO.split())),
        (test_facts.test_choosing, facts.CHOOSING, set()),
    ):
        right = {name for name, f in (FUNCTIONS | ufuncs).items() if passes(check, f)}
        assert right - names_of(table, (FUNCTIONS | ufuncs).items()) == others


#: Functions that give no floats in any call, and that are not said to.
DISCRETE_TOO: Final = """
argpartition can_cast indices iterable mask_indices may_share_memory packbits shares_memory
unpackbits
"""


@pytest.mark.fuzz
def test_each_wrong_row_of_discrete_is_found() -> None:
    missed: set[str] = set()
    for name, key in FUNCTIONS.items():
        kinds = {kind for text in BY_FUNCTION.get(key, ()) for kind in kinds_of(text)}
        if kinds and kinds.isdisjoint("fcO") and not runtime.is_in(key, facts.DISCRETE):
            missed.add(name)
    assert missed == set(DISCRETE_TOO.split())


def kinds_of(text: str) -> set[str]:
    try:
        return test_facts.kinds_of(text)
    except ValueError:  # of a list of arrays of several shapes
        return {"O"}


#: Functions whose results the operands determine, too, of which no program needs to know it.
DETERMINED_TOO: Final = """
all amax amin angle any append argsort argwhere around array asanyarray asarray asarray_chkfinite
asfortranarray asmatrix astype block bmat column_stack compress concat concatenate correlate
count_nonzero cov cumprod cumsum cumulative_prod cumulative_sum diag diag_indices diagflat
diagonal digitize dstack ediff1d einsum expand_dims extract fft.fftfreq fft.rfftfreq fix
flatnonzero flip fliplr flipud frombuffer fromiter full_like geomspace histogram_bin_edges hstack
i0 imag inner intersect1d isclose iscomplex isin isneginf isposinf isreal kron lexsort
lib.stride_tricks.sliding_window_view linalg.cholesky linalg.cond linalg.det linalg.diagonal
linalg.inv linalg.matmul linalg.matrix_norm linalg.matrix_power linalg.matrix_rank
linalg.matrix_transpose linalg.outer linalg.solve linalg.svdvals linalg.tensorinv
linalg.tensorsolve linalg.trace linalg.vecdot linalg.vector_norm linspace logspace
matrix_transpose nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod
nanstd nansum nanvar packbits pad percentile polyadd polymul polysub ptp quantile ravel real
real_if_close repeat require roll rollaxis rot90 row_stack select setdiff1d setxor1d sinc sort
stack trace union1d unique_values unwrap vander vstack
"""


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
def test_each_wrong_row_of_determined_is_found() -> None:
    missed: set[str] = set()
    for name, key in FUNCTIONS.items():
        if runtime.is_in(key, facts.DETERMINED):
            continue
        try:
            results = [test_facts.differences(key, has_axis=x) for x in (False, True)]
        except (AttributeError, IndexError, KeyError, ValueError):  # the result is no array
            continue
        if not any(different for different, _ in results) and any(count for _, count in results):
            missed.add(name)
    assert missed == set(DETERMINED_TOO.split())
