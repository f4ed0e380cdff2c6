"""Jacobians by vertex elimination, and the cost of an order; and ``hessian``.

The tangent map that ``linearize`` records is the graph: its values are the vertices, its equations
give the edges (``autodiff.local_jacobians``). The order is chosen from the patterns alone
(``autodiff.elimination``), so under ``jit`` that is done once, and the compiled program holds the
products only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal, Never, ParamSpec, TypeAlias

import attrs
import numpy as np

from tinyjax import errors, numpy as jnp, tree
from tinyjax._base import frames, tracebacks
from tinyjax.autodiff import elimination
from tinyjax.autodiff.elimination import Ends, Graph, Pattern
from tinyjax.autodiff.local_jacobians import Matrix, Tangents, flat_size, has_backward_only
from tinyjax.core import jit
from tinyjax.core.api import jacobians, mapping, typed
from tinyjax.core.api.arguments import DifferentiatedArguments, DifferentiatedCall, without_tracers
from tinyjax.core.tracing import calling, checking, jaxpr as jx, trace as tr
from tinyjax.core.tracing.watching import watched
from tinyjax.core.transforms.linearize import LinearizedFunction, linearize_flat
from tinyjax.core.values import Array, avals as av, concrete
from tinyjax.dtypes import HostArray, float0, is_complex, is_inexact

P = ParamSpec("P")

#: How to accumulate a Jacobian: in the order of the program, in the opposite one, or in the
#: cheapest that is found, which costs no more than either.
Order: TypeAlias = Literal["auto", "forward", "reverse"]

#: Above so many elements of local derivatives, zeros included, ``jacobian`` takes one of the modes.
_MOST_ELEMENTS: Final = 2**24
#: How much longer a multiplication takes here than an element of a whole array takes the modes. Of
#: so few of these no compiled program takes long.
_OVERHEAD: Final = 8
_FEW: Final = 2**16
#: The signatures that one function's ``jacobian`` remembers the mode of.
_MOST_SIGNATURES: Final = 64


def _with_order(
    function: Callable[..., Any],
) -> typed.Jacobians[bool, Order, typed.Sparse, Array, Never]:
    transform: Callable[..., Any] = checking.checked(function)
    return transform


def _has_dtypes(result: Any, avals: Sequence[av.ShapedArray]) -> bool:
    return {x.dtype for x in tree.leaves(result)} <= {aval.dtype for aval in avals}


def _remember(modes: dict[Hashable, bool], signature: Hashable, forward: bool) -> None:
    if len(modes) == _MOST_SIGNATURES:
        modes.clear()
    modes[signature] = forward


@_with_order
def jacobian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | None = None,
    order: Order = "auto",
    sparse: typed.Sparse = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian with few multiplications.

    The derivatives of the single operations are multiplied, without their zeros, in an order chosen
    for this function: vertex elimination (A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd
    ed., 2008, chapter 9). ``order="auto"`` takes no more multiplications than the better of forward
    and reverse order. It takes fewer where the function has many inputs and many results, or passes
    through few values in between (``multiplications`` counts them).

    The first call chooses the order, and every call finds the zeros; both take time. Use it under
    ``jit``, where a compiled program does neither again.

    In three cases ``jacfwd`` or ``jacrev`` differentiates, whichever has fewer directions. The
    derivatives of single operations have more than 2**24 elements; or ``chunk_size`` is given; or
    ``order`` is ``"auto"`` and the products would take longer than whole arrays do. Outside ``jit``
    that is most often so.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated.
        chunk_size: how many rows or columns to compute at once, to save memory.
        order: ``"auto"``, ``"forward"`` or ``"reverse"``.
        sparse: whether to return sparse arrays. The elements that differ from zero for some
            arguments (``autodiff.jacobian_sparsity``) are then found from products with few
            vectors: columns without a common row are computed together, or rows. ``True`` gives
            ``experimental.sparse.BCOO``; ``"scipy"`` compiles the function, and gives a
            ``scipy.sparse.csr_array`` of shape (result.size, argument.size).

    Returns:
        A function of the same signature; its result is that of ``jacrev``.

    Raises:
        DifferentiationError: when called, if an argument or a result is not float (or complex, with
            ``holomorphic``).
        ArgumentError: ``chunk_size`` is not positive; or with ``sparse``, ``holomorphic``,
            ``allow_int`` or an ``order`` is given, or the Jacobian has too many elements.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.jacobian(lambda x: x**2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
        >>> tinyjax.jit(tinyjax.jacobian(jnp.diff, sparse=True))(jnp.ones(1000))
        BCOO(float32[999, 1000], nse=1998)
    """
    mapping.check_positive("jacobian", chunk_size=chunk_size)
    if sparse:
        if allow_int or order != "auto":
            raise errors.ArgumentError(
                "jacobian(sparse=...) takes neither allow_int nor order: which products it takes "
                "follows from where zeros are. Leave them out, or leave out sparse."
            )
        return sparse_derivative("jacobian", fun, argnums, has_aux, holomorphic, chunk_size, sparse)
    choice = DifferentiatedArguments("jacobian", fun, argnums, holomorphic)
    columns = jacobians.jacfwd(choice.applied, argnums, has_aux, chunk_size=chunk_size)
    rows = jacobians.jacrev(
        choice.applied, argnums, has_aux, holomorphic, allow_int, chunk_size=chunk_size
    )
    modes: dict[Hashable, bool] = {}  # by signature, whether calls take forward mode

    @partial(watched, named=fun)
    def computed(*args: Any, **kwargs: Any) -> Any:
        signature = _signature(args, kwargs)
        if signature is not None and signature in modes:
            if not modes[signature]:
                return rows(*args, **kwargs)
            try:
                result = columns(*args, **kwargs)
            except errors.DifferentiationError:
                pass  # the function took a branch that has no derivative in forward mode
            else:
                if _has_dtypes(result[0] if has_aux else result, signature[1]):
                    return result
        call = _linearize(choice, args, kwargs, has_aux, allow_int)
        found = _elimination(call, order) if chunk_size is None else None
        if found is None:
            forward = call.is_better_forward
            del call  # and what it keeps of the function's values
            if signature is not None:
                _remember(modes, signature, forward)
            return (columns if forward else rows)(*args, **kwargs)
        remaining = _accumulate(*found)
        jacobian = tree.unflatten(
            call.out_tree,
            [
                call.chosen.result(
                    [_placed(_between(remaining, u, w), x, out) for u, x in call.arguments]
                )
                for w, out in call.results
            ],
        )
        return (jacobian, without_tracers(call.aux)) if has_aux else jacobian

    return computed


def _of_second_order(
    function: Callable[..., Any],
) -> typed.Jacobians[Never, Never, typed.Sparse, Never, Array]:
    transform: Callable[..., Any] = checking.checked(function)
    return transform


@_of_second_order
def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
    sparse: typed.Sparse = False,
) -> Callable[..., Any]:
    """Return a function that computes the matrix of second derivatives, forward over reverse.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        chunk_size: how many columns to compute at once, and how many rows of each where ``fun`` is
            no scalar, to save memory.
        sparse: whether to return sparse arrays, as ``jacobian`` does, from products with few
            vectors. ``fun`` must return one float. Its second derivatives are taken to be symmetric
            unless functions with rules for derivatives are in it.

    Returns:
        A function of the same signature. For a scalar ``fun`` of one array ``x``, its result has
        shape ``x.shape + x.shape``.

    Raises:
        ArgumentError: ``chunk_size`` is not positive; or the Hessian is not sparse.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.hessian(lambda x: jnp.sum(x**3))(jnp.array([1.0, 2.0]))
        Array([[ 6.,  0.],
               [ 0., 12.]], dtype=float32)
        >>> tinyjax.hessian(lambda x: jnp.sum(x**3), sparse=True)(jnp.ones(1000))
        BCOO(float32[1000, 1000], nse=1000)
    """
    mapping.check_positive("hessian", chunk_size=chunk_size)
    if sparse:
        return sparse_derivative("hessian", fun, argnums, has_aux, holomorphic, chunk_size, sparse)
    applied = frames.Applied("hessian", fun)
    rows = jacobians.jacrev(applied, argnums, has_aux, holomorphic, chunk_size=chunk_size)
    columns = jacobians.jacfwd(rows, argnums, has_aux, holomorphic, chunk_size=chunk_size)
    return frames.imitate(columns, fun)  # who transforms it applies another transformation


def sparse_derivative(name: str, *options: object) -> Callable[..., Any]:
    """Return a function for a sparse derivative, from its module, which is loaded late."""
    derivatives: Any = import_module("tinyjax._library.sparsity.derivatives")
    transform: Callable[..., Any] = derivatives.derivative(name, *options)
    return transform


@checking.checked
def multiplications(
    fun: Callable[P, Any], argnums: int | Sequence[int] = 0, *, order: Order = "auto"
) -> Callable[P, int]:
    """Return a function that counts the multiplications of ``jacobian``.

    It counts multiplications of numbers in the products of derivatives. It does not count products
    with matrices whose elements are all known to be 0, 1 or -1, nor the multiplications inside the
    derivatives of single operations, which are the same in every order. Complex numbers count as
    pairs. Under ``jit`` the number can be greater, since traced integers and booleans hide zeros.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments are differentiated; an int, or several.
        order: ``"auto"``, ``"forward"`` or ``"reverse"``.

    Returns:
        A function of the same signature that returns the number.

    Raises:
        ArgumentError: when called, if the function is too large to keep track of its zeros.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> narrow = lambda x: jnp.sin(x.sum()) * jnp.cos(x.sum()) * x
        >>> x = jnp.arange(20.0)
        >>> for order in ("forward", "reverse", "auto"):
        ...     print(order, tinyjax.autodiff.multiplications(narrow, order=order)(x))
        forward 440
        reverse 80
        auto 42
    """
    choice = DifferentiatedArguments("multiplications", fun, argnums)

    @partial(tracebacks.folded, named=fun)
    def computed(*args: P.args, **kwargs: P.kwargs) -> int:
        call = _linearize(choice, args, kwargs, False, True)
        if call.elements > _MOST_ELEMENTS:
            raise errors.ArgumentError(
                f"the derivatives of the single operations of {frames.describe_function(fun)} have "
                f"{call.elements} elements, more than the {_MOST_ELEMENTS} for which zeros are "
                "kept track of. Count for smaller arrays."
            )
        graph = call.graph(call.blocks())
        return elimination.count(graph, _order(graph, order))

    return computed


def _order(graph: Graph, order: Order) -> Iterable[int]:
    match order:
        case "auto":
            return elimination.cheapest(graph)
        case "forward":
            return graph.inner
        case "reverse":
            return graph.inner[::-1]


# From a function to a graph


@attrs.frozen(eq=False)
class _Call:
    """A function at a point, decomposed into vertices and equations.

    Attributes:
        chosen: the call, and its differentiated arguments.
        linearized: the results, and the tangent map.
        out_tree: the structure of the results.
        aux: the auxiliary data.
        types: the types of the vertices.
        equations: the equation that computes a vertex, and the index of the result; None for
            others.
        inputs: the vertices of the arguments; None for one without a derivative.
        outputs: the vertices of the results; None for one without a derivative.
    """

    chosen: DifferentiatedCall
    linearized: LinearizedFunction
    out_tree: tree.PyTreeDef
    aux: Any
    types: list[av.ShapedArray]
    equations: list[tuple[Tangents, int] | None]
    inputs: list[int | None]
    outputs: list[int | None]

    @property
    def arguments(self) -> list[tuple[int | None, Array]]:
        """The arguments' vertices and values."""
        return list(zip(self.inputs, self.chosen.primals, strict=True))

    @property
    def results(self) -> list[tuple[int | None, Array]]:
        """The results' vertices and values."""
        places = [None if v is None else _result(i) for i, v in enumerate(self.outputs)]
        return list(zip(places, self.linearized.primals_out, strict=True))

    @property
    def directions_in(self) -> int:
        """The number of directions of forward mode."""
        return sum(x.size for x in self.chosen.primals)

    @property
    def directions_out(self) -> int:
        """The number of directions of reverse mode."""
        return sum(x.size for x in self.linearized.primals_out)

    def _edges(self) -> list[tuple[int, int]]:
        return [
            (u, v)
            for v, equation in enumerate(self.equations)
            if equation is not None
            for u in dict.fromkeys(o for o in equation[0].operands if not isinstance(o, Array))
        ]

    @property
    def elements(self) -> int:
        """The number of elements of the local derivatives, zeros included."""
        return sum(flat_size(self.types[u]) * flat_size(self.types[v]) for u, v in self._edges())

    @property
    def is_better_forward(self) -> bool:
        """Return whether forward mode has no more directions, and the result of reverse mode."""
        types = {
            (x.dtype, x.weak_type) for x in (*self.chosen.primals, *self.linearized.primals_out)
        }
        if len(types) != 1 or is_complex(next(iter(types))[0]):
            return False  # its results have the types of the function's
        return self.directions_in <= self.directions_out and not has_backward_only(
            self.linearized.jaxpr
        )

    @property
    def elements_of_modes(self) -> int:
        """The number of elements that the mode with fewer directions computes."""
        directions = min(self.directions_in, self.directions_out)
        return directions * sum(map(flat_size, self.types))

    @property
    def may_pay(self) -> bool:
        """Return whether elimination may be faster than the modes, as far as sizes determine it.

        Evaluation finds the zeros at each call. The derivatives of a loop are computed by running
        it for as many directions as it has operands, or results.
        """
        if all(type(x) is concrete.ConcreteArray for x in self.chosen.primals):
            return self.elements * _OVERHEAD <= self.elements_of_modes
        runs = 0
        for u, v in self._edges():
            equation = self.equations[v]
            if equation is not None and jx.subjaxprs(equation[0].eqn.params):
                runs += min(flat_size(self.types[u]), flat_size(self.types[v]))
        return runs <= min(self.directions_in, self.directions_out)

    def pays(self, multiplications: int) -> bool:
        """Return whether so many multiplications are faster than the modes."""
        modes = self.elements_of_modes
        return modes <= _FEW or multiplications * _OVERHEAD <= modes

    def blocks(self) -> dict[Ends, Matrix]:
        """Return the edges of the graph, with one to a vertex of its own for each result."""
        edges: dict[Ends, Matrix] = {}
        for u, v in self._edges():
            equation = self.equations[v]
            assert equation is not None, "edges lead to what equations give"
            edges[u, v] = equation[0].block(u, equation[1])
        for i, out in enumerate(self.outputs):
            if out is not None:
                edges[out, _result(i)] = Matrix(
                    elimination.identity(flat_size(self.types[out])), None
                )
        return edges

    def graph(self, blocks: Mapping[Ends, Matrix]) -> Graph:
        """Return the patterns of the edges."""
        return Graph(
            tuple([v for v in self.inputs if v is not None]),
            tuple([v for v, equation in enumerate(self.equations) if equation is not None]),
            tuple([_result(i) for i, v in enumerate(self.outputs) if v is not None]),
            {ends: block.pattern for ends, block in blocks.items()},
        )


def _signature(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tree.PyTreeDef, tuple[av.ShapedArray, ...]] | None:
    """Return the structure and the types of the arguments; None unless all are arrays with data."""
    leaves, treedef = tree.flatten((args, kwargs))
    if not all(type(x) is concrete.ConcreteArray for x in leaves):
        return None
    return treedef, tuple([x.aval for x in leaves])


def _result(i: int) -> int:
    """Return the vertex of a result: not those of values, which are counted from 0."""
    return -1 - i


def _linearize(
    choice: DifferentiatedArguments,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool,
    allow_int: bool,
) -> _Call:
    chosen = DifferentiatedCall(choice, args, kwargs)
    chosen.check(allow_int)
    flat = calling.FlatFunction(chosen, chosen.in_tree, has_aux, choice.fun)
    linearized = linearize_flat(flat, chosen.primals, None, choice.applied)
    for out in linearized.primals_out:
        choice.check_result(out.aval)
    jaxpr, residuals = linearized.jaxpr, linearized.residuals
    types: list[av.ShapedArray] = [v.aval for v in jaxpr.in_binders[len(residuals) :]]
    equations: list[tuple[Tangents, int] | None] = [None] * len(types)
    numbers = iter(range(len(types)))
    inputs = [next(numbers) if has else None for has in linearized.nonzero_in]
    outs = iter(_walk(jaxpr, [*residuals, *range(len(types))], types, equations))
    outputs: list[int | None] = []
    for has in linearized.nonzero_out:
        vertex = next(outs) if has else None
        outputs.append(None if isinstance(vertex, Array) else vertex)
    return _Call(chosen, linearized, flat.out_tree, flat.aux, types, equations, inputs, outputs)


def _walk(
    jaxpr: jx.Jaxpr,
    args: Sequence[Array | int],
    types: list[av.ShapedArray],
    equations: list[tuple[Tangents, int] | None],
) -> list[Array | int]:
    """Number the values that depend on a tangent, compute the rest, and enter compiled programs."""
    env: dict[jx.Var, Array | int] = dict(zip(jaxpr.in_binders, args, strict=True))

    def read(x: jx.Atom) -> Array | int:
        return x.value if isinstance(x, jx.Lit) else env[x]

    for eqn in jaxpr.eqns:
        operands = tuple([read(x) for x in eqn.inputs])
        constants = [x for x in operands if isinstance(x, Array)]
        results: Sequence[Array | int]
        if len(constants) == len(operands):
            results = tr.bind(eqn.primitive, constants, eqn.params)
        elif eqn.primitive is jit.jit_p:
            results = _walk(eqn.params.jaxpr, operands, types, equations)
        else:
            tangents = Tangents(eqn, operands)
            results = range(len(types), len(types) + len(eqn.out_binders))
            types += eqn.out_avals
            equations += [(tangents, i) for i in range(len(eqn.out_binders))]
        env.update(zip(eqn.out_binders, results, strict=True))
    return [read(x) for x in jaxpr.outs]


# From a graph to a Jacobian


def _elimination(call: _Call, order: Order) -> tuple[dict[Ends, Matrix], tuple[int, ...]] | None:
    """Return the single operations' derivatives, and the order; None if the modes are faster."""
    is_auto = order == "auto"
    if call.elements > _MOST_ELEMENTS or (is_auto and not call.may_pay):
        return None
    blocks = call.blocks()
    graph = call.graph(blocks)
    along = tuple(_order(graph, order))
    if is_auto and not call.pays(elimination.count(graph, along)):
        return None
    return blocks, along


def _between(blocks: Mapping[Ends, Matrix], u: int | None, w: int | None) -> Matrix | None:
    return None if u is None or w is None else blocks.get((u, w))


def _placed(block: Matrix | None, x: Array, out: Array) -> Array:
    """Return the derivative of a result in an argument, in the user's shape and type."""
    shape = out.shape + x.shape
    if not is_inexact(x.dtype):
        return concrete.ConcreteArray(np.zeros(shape, float0))
    if block is None:
        return jnp.zeros(shape, x.dtype)
    matrix = _dense(block)
    if is_complex(out.dtype):
        matrix = matrix[: out.size]
    if is_complex(x.dtype):
        matrix = matrix[:, : x.size] - 1j * matrix[:, x.size :]
    return jnp.reshape(jnp.asarray(matrix, x.dtype), shape)


def _accumulate(blocks: Mapping[Ends, Matrix], order: Iterable[int]) -> Mapping[Ends, Matrix]:
    graph = elimination.Elimination(blocks, _multiply, _add)
    for v in order:
        graph.eliminate(v)
    return graph.edges


def _multiply(lhs: Matrix, rhs: Matrix) -> Matrix:
    a, b = lhs.pattern, rhs.pattern
    pattern = elimination.product(a, b)
    if pattern.sign:
        return Matrix(pattern, None)
    # a product over nothing is zero, though both are full
    full = a.full and b.full and pattern.full
    if lhs.values is not None and rhs.values is not None and full:
        matrix = jnp.reshape(lhs.values, a.nonzero.shape) @ jnp.reshape(rhs.values, b.nonzero.shape)
        return Matrix(pattern, jnp.ravel(matrix))
    first, second, places = _terms(a, b, pattern)
    terms: Array
    if lhs.values is not None and rhs.values is not None:
        assert elimination.multiplications_of(a, b) == len(places), (
            "what is counted is what is done"
        )
        terms = lhs.values[first] * rhs.values[second]
    elif rhs.values is not None:
        terms = _signed(rhs.values[second], a.sign)
    elif lhs.values is not None:
        terms = _signed(lhs.values[first], b.sign)
    else:
        terms = concrete.ConcreteArray(np.full(len(places), a.sign * b.sign, np.float32))
    return Matrix(pattern, _gather_up(terms, places, pattern.size))


def _add(lhs: Matrix, rhs: Matrix) -> Matrix:
    pattern = elimination.total(lhs.pattern, rhs.pattern)
    if pattern.sign:
        return Matrix(pattern, None)
    a, b = _values(lhs), _values(rhs)
    if np.array_equal(lhs.pattern.nonzero, rhs.pattern.nonzero):
        return Matrix(pattern, a + b)
    numbers = _numbers(pattern)
    places = np.concatenate([numbers[lhs.pattern.nonzero], numbers[rhs.pattern.nonzero]])
    return Matrix(pattern, _gather_up(jnp.concatenate([a, b]), places, pattern.size))


def _values(block: Matrix) -> Array:
    if block.values is not None:
        return block.values
    return concrete.ConcreteArray(np.full(block.pattern.size, block.pattern.sign, np.float32))


def _signed(values: Array, sign: int) -> Array:
    return values if sign == 1 else -values


def _numbers(pattern: Pattern) -> HostArray:
    """For each element, which of the nonzero ones it is."""
    numbers = np.zeros(pattern.nonzero.shape, np.intp)
    numbers[pattern.nonzero] = np.arange(pattern.size)
    return numbers


def _terms(a: Pattern, b: Pattern, pattern: Pattern) -> tuple[HostArray, HostArray, HostArray]:
    """Return the products of numbers that a product of matrices consists of.

    Returns:
        For each product, which nonzero elements are multiplied, and which element of the result it
        is a part of.
    """
    rows, middle = np.nonzero(a.nonzero)
    _, columns = np.nonzero(b.nonzero)
    lengths = np.count_nonzero(b.nonzero, axis=1)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
    repeats = lengths[middle]
    first = np.repeat(np.arange(len(rows)), repeats)
    within = np.arange(len(first)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    second = np.repeat(starts[middle], repeats) + within
    return first, second, _numbers(pattern)[rows[first], columns[second]]


def _gather_up(terms: Array, places: HostArray, size: int) -> Array:
    """Add the terms that belong to one place."""
    order = np.argsort(places, kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        terms = terms[order]
    per_place = np.bincount(places, minlength=size)
    if size and bool((per_place == per_place[0]).all()):
        return terms if per_place[0] == 1 else jnp.sum(jnp.reshape(terms, (size, -1)), axis=1)
    return jnp.zeros(size, terms.dtype).at[places[order]].add(terms)


def _dense(block: Matrix) -> Array:
    shape = block.pattern.nonzero.shape
    values = _values(block)
    if block.pattern.full:
        return jnp.reshape(values, shape)
    return jnp.zeros(shape, values.dtype).at[np.nonzero(block.pattern.nonzero)].set(values)
