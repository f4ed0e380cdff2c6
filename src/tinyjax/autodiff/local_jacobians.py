"""The derivative of one equation of a tangent map, as a matrix with known zeros.

Where the zeros are is found by trial: the equation is applied to a basis, with random numbers for
the values that it takes besides the tangents. A linear primitive has no other zeros than those that
it has for almost all values. Where integers or booleans that are not at hand choose what goes
where, or a program is inside the equation, zeros are those that the rules for sparsity find.

The elements are then found in few applications: columns without a common nonzero row are computed
together, in one direction, and so are rows in reverse mode (A. R. Curtis, M. J. D. Powell and J. K.
Reid, *On the estimation of sparse Jacobian matrices*, 1974).

All matrices are real: a complex number is a pair, all real parts before all imaginary ones.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import numpy as jnp
from tinyjax.autodiff.elimination import Mask, Pattern
from tinyjax.core.api import mapping
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.rules import add_arrays
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, trace as tr
from tinyjax.core.values import Array, ConcreteArray, avals as av
from tinyjax.custom_derivatives.custom_calls import custom_vjp_tangent_p
from tinyjax.dtypes import HostArray, is_complex, is_inexact, real_part

#: Equations that can be transposed and not applied.
_BACKWARD_ONLY: Final[frozenset[prim.Primitive[Any]]] = frozenset((custom_vjp_tangent_p,))


def has_backward_only(jaxpr: jx.Jaxpr) -> bool:
    """Return whether a program has tangents without forward mode, also in its inner programs."""
    return jx.some_eqn(jaxpr, "backward only", lambda eqn: eqn.primitive in _BACKWARD_ONLY)


def _is_backward_only(eqn: jx.JaxprEqn) -> bool:
    return eqn.primitive in _BACKWARD_ONLY or any(map(has_backward_only, jx.subjaxprs(eqn.params)))


@attrs.frozen(eq=False)
class Matrix:
    """A matrix: its pattern, and its elements that may differ from zero, row by row.

    ``values`` is None where the pattern's sign says all of them.
    """

    pattern: Pattern
    values: Array | None


def flat_size(aval: av.ShapedArray) -> int:
    """Return the number of real numbers in a value."""
    return aval.size * 2 if is_complex(aval.dtype) else aval.size


def _pack(x: Array) -> Array:
    """Return a value as a vector of real numbers."""
    if is_complex(x.dtype):
        return jnp.concatenate([jnp.ravel(jnp.real(x)), jnp.ravel(jnp.imag(x))])
    return jnp.ravel(x)


def _unpack(flat: Array, aval: av.ShapedArray) -> Array:
    if is_complex(aval.dtype):
        real, imag = flat[: aval.size], flat[aval.size :]
        flat = jnp.asarray(real + 1j * imag, aval.dtype)
    return jnp.reshape(flat, aval.shape)


def _conjugate(x: Array) -> Array:
    """Return a cotangent as a vector of real numbers, or back: the imaginary part is negated."""
    return jnp.conj(x) if is_complex(x.dtype) else x


@attrs.frozen(eq=False)
class Tangents:
    """An equation, its operands resolved: values, or the numbers of the vertices they stand for."""

    eqn: jx.JaxprEqn
    operands: tuple[Array | int, ...]

    def block(self, v: int, position: int) -> Matrix:
        """Return the derivative of one of its results in one of its vertices."""
        out = self.eqn.out_binders[position].aval
        pattern, constant = self._pattern(v, position)
        if pattern.sign:
            return Matrix(pattern, None)
        if constant is not None:
            return Matrix(pattern, ConcreteArray(constant[pattern.nonzero]))
        rows, columns = np.nonzero(pattern.nonzero)
        by_column, by_row = _groups(pattern.nonzero), _groups(pattern.nonzero.T)
        width, height = int(by_column.max(initial=-1)) + 1, int(by_row.max(initial=-1)) + 1
        if width <= height and not _is_backward_only(self.eqn):
            derivatives = self._along(v, position, _directions(by_column, width, self._type(v)))
            return Matrix(pattern, derivatives[by_column[columns], rows])
        derivatives = self._against(v, position, _directions(by_row, height, out))
        return Matrix(pattern, derivatives[by_row[rows], columns])

    def _type(self, v: int) -> av.ShapedArray:
        return next(
            x.aval for x, o in zip(self.eqn.inputs, self.operands, strict=True) if _is_vertex(o, v)
        )

    def _along(self, v: int, position: int, directions: Array) -> Array:
        """Return the tangents of a result along directions of a vertex, stacked."""
        aval = self._type(v)

        def push(direction: Array) -> Array:
            tangent = _unpack(direction, aval)
            operands = [
                tangent
                if _is_vertex(o, v)
                else o
                if isinstance(o, Array)
                else sh.full(x.aval.shape, 0, x.aval.dtype)
                for x, o in zip(self.eqn.inputs, self.operands, strict=True)
            ]
            return _pack(tr.bind(self.eqn.primitive, operands, self.eqn.params)[position])

        return mapping.over_basis(push)(directions)

    def _against(self, v: int, position: int, directions: Array) -> Array:
        """Return the cotangents of a vertex for stacked directions of a result."""
        eqn = self.eqn
        out = eqn.out_binders[position].aval
        operands = [
            o if isinstance(o, Array) else prim.UndefinedPrimal(x.aval)
            for x, o in zip(eqn.inputs, self.operands, strict=True)
        ]

        def pull(direction: Array) -> Array:
            cotangent = _conjugate(_unpack(direction, out))
            cts = [cotangent if i == position else prim.ZERO for i in range(len(eqn.out_binders))]
            results = eqn.primitive.rules.transpose(cts, operands, eqn.params)
            total = sh.full(self._type(v).shape, 0, self._type(v).dtype)
            for o, result in zip(self.operands, results, strict=True):
                if _is_vertex(o, v) and result is not None and result is not prim.ZERO:
                    total = add_arrays(total, result)
            return _pack(_conjugate(total))

        return mapping.over_basis(pull)(directions)

    def _pattern(self, v: int, position: int) -> tuple[Pattern, HostArray | None]:
        """Return the mask of possible nonzeros, and their value if it is one for all data."""
        aval, out = self._type(v), self.eqn.out_binders[position].aval
        shape = flat_size(out), flat_size(aval)
        if self.eqn.primitive in _BACKWARD_ONLY or jx.subjaxprs(self.eqn.params):
            return self._detected(v, position), None
        rng = np.random.default_rng(0)
        operands: list[Array | int] = list(self.operands)
        chance: list[int] = []  # which operands stand for any numbers
        for i, o in enumerate(self.operands):
            if not isinstance(o, Array) or (type(o) is ConcreteArray and not is_inexact(o.dtype)):
                continue
            if is_inexact(o.dtype):
                chance.append(i)
            else:
                return self._detected(v, position), None
        basis = np.eye(shape[1], dtype=real_part(aval.dtype))
        directions = ConcreteArray(np.vstack([np.zeros((1, shape[1]), basis.dtype), basis]))
        tried: list[HostArray] = []
        with tr.use_trace(tr.EVAL):
            for _ in range(2 if chance else 1):
                for i in chance:
                    operands[i] = _random(rng, self.eqn.inputs[i].aval)
                outs = Tangents(self.eqn, tuple(operands))._along(v, position, directions)
                # less what is added to the tangent: the other operand of a select, padding
                derivatives = outs.concrete("a pattern")
                tried.append((derivatives[1:] - derivatives[0]).T)
        matrix = tried[0]
        constant = np.array_equal(matrix, tried[-1])
        nonzero = np.asarray(matrix != 0)
        if not constant:
            return Pattern(nonzero), None
        for sign in (1, -1):
            if bool((matrix[nonzero] == sign).all()):
                return Pattern(nonzero, sign), matrix
        return Pattern(nonzero), matrix

    def _detected(self, v: int, position: int) -> Pattern:
        """Return the mask of possible nonzeros by the rules for sparsity, for all floats."""
        depends: Callable[..., HostArray] = import_module(
            "tinyjax._library.sparsity.detection"
        ).depends
        known = [
            o if type(o) is ConcreteArray and not is_inexact(o.dtype) else None
            for o in self.operands
        ]
        places = [i for i, o in enumerate(self.operands) if _is_vertex(o, v)]
        dense = depends(self.eqn, places, known, position)
        rows = 2 if is_complex(self.eqn.out_binders[position].aval.dtype) else 1
        return Pattern(np.tile(dense, (rows, 2 if is_complex(self._type(v).dtype) else 1)))


def _is_vertex(operand: Array | int, v: int) -> bool:
    return not isinstance(operand, Array) and operand == v


def _random(rng: np.random.Generator, aval: av.ShapedArray) -> Array:
    values: HostArray = np.asarray(rng.uniform(0.5, 1.5, aval.shape))
    if is_complex(aval.dtype):
        values = np.asarray(values + 1j * rng.uniform(0.5, 1.5, aval.shape))
    return ConcreteArray(values.astype(aval.dtype))


def _groups(nonzero: Mask) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Number the columns so that two with a common nonzero row have different numbers."""
    n = nonzero.shape[1]
    if nonzero.all(axis=1).any():
        return np.arange(n)
    occupied = np.zeros((0, nonzero.shape[0]), np.bool_)
    groups = np.zeros(n, np.intp)
    for j in range(n):
        column = nonzero[:, j]
        free = np.nonzero(~occupied[:, column].any(axis=1))[0]
        if free.size:
            groups[j] = free[0]
            occupied[free[0]] |= column
        else:
            groups[j] = len(occupied)
            occupied = np.vstack([occupied, column])
    return groups


def _directions(
    groups: np.ndarray[Any, np.dtype[np.intp]], number: int, aval: av.ShapedArray
) -> Array:
    """For each group, the sum of the unit vectors in it."""
    directions = np.zeros((number, len(groups)), real_part(aval.dtype))
    directions[groups, np.arange(len(groups))] = 1
    return ConcreteArray(directions)
