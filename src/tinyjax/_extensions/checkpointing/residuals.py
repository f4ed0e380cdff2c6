"""The residuals that a derivative keeps until its backward pass, with the user's lines."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final

import attrs

from tinyjax import dtypes, tree
from tinyjax._base.frames import Location
from tinyjax._extensions.checkpointing.rematerialize import SPLIT
from tinyjax.core.primitives.identities import NameParams
from tinyjax.core.tracing import calling, jaxpr as jx, program_rules, staging
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values import Array, avals as av


@attrs.frozen
class Residual:
    """A value that a derivative keeps from the forward pass for the backward pass.

    Attributes:
        shape: its shape.
        dtype: its dtype.
        argument: the path of the argument that it is, such as ``params['w']``; or None.
        primitive: the operation that computed it; None if it was not computed.
        name: its name by ``checkpoint_name``; or None.
        location: the user's line that computed it; None where that is not known.
    """

    shape: tuple[int, ...]
    dtype: dtypes.DType
    argument: str | None = None
    primitive: str | None = None
    name: str | None = None
    location: Location | None = None

    @property
    def aval(self) -> av.ShapedArray:
        """Its type."""
        return av.ShapedArray(self.shape, self.dtype)

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.aval.size * self.dtype.itemsize

    @property
    def origin(self) -> str:
        """The origin of the residual, in words."""
        if self.argument is not None:
            return f"the argument {self.argument}"
        if self.primitive is None:
            return "a constant, or an array that the function closes over"
        origin = f"the result of {self.primitive}"
        if self.name is not None:
            origin = f"named '{self.name}'"
        if self.location is not None:
            origin += f" at {self.location}: {self.location.text}"
        return origin

    def __str__(self) -> str:
        return f"{self.aval} {_bytes(self.nbytes)}, {self.origin}"


def _bytes(count: int) -> str:
    return f"{count:,} byte{'' if count == 1 else 's'}"


class ResidualTable(list[Residual]):
    """Records of residuals; a list, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        """Show the largest residuals as a table."""
        largest = sorted(self, key=lambda residual: -residual.nbytes)
        rows = [
            f'<tr><td style="text-align: right">{_bytes(residual.nbytes)}</td>'
            f"<td>{escape(str(residual.aval))}</td>"
            f'<td style="text-align: left">{escape(residual.origin)}</td></tr>'
            for residual in largest[:_MOST_ROWS]
        ]
        left_out = len(largest) - len(rows)
        if left_out:
            rest = _bytes(sum(residual.nbytes for residual in largest[_MOST_ROWS:]))
            rows.append(f"<tr><td>{rest}</td><td colspan=2>{left_out:,} smaller ones</td></tr>")
        return f"<b>{escape(self.summary)}</b><table>{''.join(rows)}</table>"

    @property
    def summary(self) -> str:
        """The number of residuals and their total size."""
        total = _bytes(sum(residual.nbytes for residual in self))
        return f"{len(self)} residual{'' if len(self) == 1 else 's'}, {total}"


_MOST_ROWS: Final = 30


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> ResidualTable:
    """List the residuals that a reverse-mode derivative of a function keeps for its backward pass.

    Args:
        f: the function; it is staged, not run.
        args: its arguments; a ``ShapeDtypeStruct`` may replace an array.
        kwargs: likewise.

    Returns:
        One record per residual, in the order of their computation, arguments first.

    Raises:
        ConcretizationError: the function needs the data of an argument.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> residuals = tinyjax.saved_residuals(lambda w, x: jnp.sin(w @ x), jnp.ones((2, 3)),
        ...                                     jnp.ones(3))
        >>> [(r.shape, r.argument, r.nbytes) for r in residuals]
        [((2, 3), 'w', 24), ((3,), 'x', 12), ((2,), None, 8)]
    """
    leaves, in_tree = tree.flatten_arguments(args, kwargs)
    avals = calling.as_avals(leaves, f, in_tree)

    def residuals(*xs: Array) -> Sequence[Array]:
        return linearize_flat(calling.FlatFunction(f, in_tree), xs, None, f).residuals

    staged = staging.stage(residuals, avals)
    jaxpr = staged.jaxpr
    num_consts = len(staged.consts)
    places = {var: i for i, var in enumerate(jaxpr.in_binders)}
    computed = {v: i for i, v in enumerate(v for eqn in jaxpr.eqns for v in eqn.out_binders)}
    entries: list[tuple[int, Residual]] = []
    for atom in dict.fromkeys(jaxpr.outs):
        if not isinstance(atom, jx.Var):
            continue
        shape, dtype = atom.aval.shape, atom.aval.dtype
        if atom not in places:
            name, primitive, location = origin_of(jaxpr, atom)
            residual = Residual(shape, dtype, None, primitive, name, location)
            entries.append((len(places) + computed[atom], residual))
        elif places[atom] < num_consts:
            entries.append((len(leaves) + places[atom], Residual(shape, dtype)))
        else:
            i = places[atom] - num_consts
            entries.append((i, Residual(shape, dtype, calling.argument_path(f, in_tree, i))))
    return ResidualTable([residual for _, residual in sorted(entries, key=lambda pair: pair[0])])


def origin_of(jaxpr: jx.Jaxpr, var: jx.Var) -> tuple[str | None, str | None, Location | None]:
    """Return the name of a computed value, and the operation and the line that computed it.

    A value from a called program, a loop or a conditional is looked for inside it.
    """
    eqn = next(e for e in jaxpr.eqns if var in e.out_binders)
    location = None if eqn.source is None else eqn.source.location
    name = eqn.params.name if isinstance(eqn.params, NameParams) else None
    rules = eqn.primitive.rules.extensions
    if program_rules.CALLED in rules or SPLIT in rules:
        place = eqn.out_binders.index(var)
        for inner in jx.subjaxprs(eqn.params):
            atom = inner.outs[place]
            if isinstance(atom, jx.Var) and atom not in inner.in_binders:
                name, primitive, inside = origin_of(inner, atom)
                return name, primitive, inside or location
    return name, eqn.primitive.name, location


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the residuals that a reverse-mode derivative keeps for its backward pass.

    Args:
        f: the function; it is staged, not run.
        args: its arguments; a ``ShapeDtypeStruct`` may stand for an array.
        kwargs: likewise.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.print_saved_residuals(jnp.multiply, jnp.ones(3), jnp.ones(3))
        float32[3] 12 bytes, the argument x
        float32[3] 12 bytes, the argument y
        2 residuals, 24 bytes
    """
    residuals = saved_residuals(f, *args, **kwargs)
    for residual in residuals:
        print(residual)  # noqa: T201
    print(residuals.summary)  # noqa: T201
