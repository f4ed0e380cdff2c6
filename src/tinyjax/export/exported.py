"""``Exported``: a program that needs nothing of its source, and the primitive that calls it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, ParamSpec, TypeVar

import attrs
import numpy as np

from tinyjax import tree, xla
from tinyjax.api import vjp
from tinyjax.config import scoped
from tinyjax.control_flow.loops import map_
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray, ShapeDtypeStruct
from tinyjax.core.calling import as_arrays
from tinyjax.core.devices import PLATFORM, platform_in_view
from tinyjax.core.jaxpr import Jaxpr, effects, eval_jaxpr
from tinyjax.core.lowering import tensors
from tinyjax.core.primitive import (
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Cotangents,
    JvpResult,
    MappedAxis,
    Operands,
    Params,
    Primitive,
    Tangents,
)
from tinyjax.core.staging import stage
from tinyjax.core.tangents import defined, of_undefined, with_zeros
from tinyjax.core.trace import EVAL, Tracer, bind, check_concrete, current_trace
from tinyjax.dtypes import is_inexact
from tinyjax.errors import ArgumentError, DifferentiationError, ExportError, TinyjaxError
from tinyjax.export.dims import is_symbolic_dim
from tinyjax.export.format import VERSION, Content, decode, encode
from tinyjax.export.programs import (
    Place,
    Sized,
    Solution,
    closed,
    inspect,
    is_symbolic,
    scope_of,
    told,
    variables_of,
    with_sizes,
)
from tinyjax.frames import describe_function, wraps
from tinyjax.jit import JitFunction, JitParams, jit, jit_p
from tinyjax.jit.stages import Lowered, check_arguments
from tinyjax.primitives.rules import instantiate, instantiate_all
from tinyjax.primitives.shape import moveaxis
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values
from tinyjax.tree import PyTreeDef, SequenceKey, path_str

P = ParamSpec("P")
T = TypeVar("T")


@attrs.frozen(repr=False)
class Program(Sized):
    """An exported program, as the primitive that calls it knows it.

    Attributes:
        name: the function's name; programs that differ in name only are the same.
        portable: the program in portable form.
        in_avals: the types of its parameters.
        out_avals: the types of its results.
        num_consts: how many of the parameters are arrays that came with it.
        text: returns the program in StableHLO.
        vjp: returns the program of its derivative, where there is one.
        jaxpr: of a program for many sizes, in place of its text, the program; it is called so only
            in a program for many sizes.
    """

    name: str = attrs.field(eq=False)
    portable: str
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    num_consts: int
    text: Callable[[], str] = attrs.field(eq=False)
    vjp: Callable[[], Exported] | None = attrs.field(eq=False)
    jaxpr: Jaxpr | None = None
    _family: Exported | None = attrs.field(default=None, eq=False)

    @property
    def inlined(self) -> Jaxpr | None:
        return self.jaxpr

    def with_sizes(self, sizes: Mapping[str, int]) -> Program:
        return self if self._family is None else self._family.with_sizes(sizes).program

    def __repr__(self) -> str:
        return f"<{self.name}, {len(self.portable)} bytes>"


@attrs.frozen(repr=False)
class CallExportedParams(Params):
    """An exported program to be called."""

    program: Program


call_exported_p: Primitive[CallExportedParams] = Primitive("call_exported", CallExportedParams)


@call_exported_p.def_evaluate
def _call_evaluate(args: Arrays, params: CallExportedParams) -> Arrays:
    return bind(jit_p, args, JitParams(_calling(params.program), params.program.name))


@call_exported_p.def_abstract_eval
def _call_type(avals: Avals, params: CallExportedParams) -> Avals:
    program = params.program
    given, expected = ([(a.shape, a.dtype) for a in types] for types in (avals, program.in_avals))
    if given != expected:
        raise ArgumentError(
            f"'{program.name}' was exported for ({', '.join(map(str, program.in_avals))}), but was "
            f"applied to ({', '.join(map(str, avals))})."
        )
    return program.out_avals


@call_exported_p.def_lowering
def _call_lowering(b: Lowering, operands: Values, params: CallExportedParams) -> Values:
    program = params.program
    entry = b.module.embed(program.portable.encode(), program.text, program.name)
    return b.emit("func.call", operands, b.results, {"callee": f"@{entry}"})


@call_exported_p.def_jvp
def _call_jvp(primals: Arrays, tangents: Tangents, params: CallExportedParams) -> JvpResult:
    program = params.program
    if program.vjp is None:
        raise DifferentiationError(
            f"'{program.name}' is an exported program without its derivative. Where it is "
            "exported, keep that with it: exported.serialize(vjp_order=1), or a higher order for "
            "derivatives of derivatives. Or use tinyjax.lax.stop_gradient on its arguments."
        )
    outs = bind(call_exported_p, primals, params)
    n = program.num_consts
    args = primals[n:]
    given = [
        instantiate(t, x) for x, t in zip(args, tangents[n:], strict=True) if is_inexact(x.dtype)
    ]
    out_avals = tuple([a for a in program.out_avals if is_inexact(a.dtype)])
    map_params = ExportedTangentParams(program.name, program.vjp, len(args), out_avals)
    found = bind(exported_tangent_p, (*args, *given), map_params)
    return outs, with_zeros([is_inexact(a.dtype) for a in program.out_avals], found)


@call_exported_p.def_batch
def _call_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: CallExportedParams
) -> BatchResult:
    # Its shapes are fixed, so it is called for one example after the other.
    examples = [moveaxis(x, i, 0) for x, i in zip(values, axes, strict=True) if i is not None]

    def one(example: list[Array]) -> list[Array]:
        rest = iter(example)
        args = [x if i is None else next(rest) for x, i in zip(values, axes, strict=True)]
        return list(bind(call_exported_p, args, params))

    outs = map_(one, examples)
    return outs, [0] * len(outs)


@attrs.frozen(repr=False)
class ExportedTangentParams(Params):
    """The tangent map of an exported program, which is known by its transpose only.

    Attributes:
        name: the program's name.
        vjp: returns the program of the transpose.
        num_args: how many operands come first in which the map is not linear.
        out_avals: the types of its results.
    """

    name: str = attrs.field(eq=False)
    vjp: Callable[[], Exported]
    num_args: int
    out_avals: tuple[ShapedArray, ...]


exported_tangent_p: Primitive[ExportedTangentParams] = Primitive(
    "exported_tangent", ExportedTangentParams
)


def _forward_mode(name: str) -> DifferentiationError:
    return DifferentiationError(
        f"'{name}' is an exported program, whose derivative serves reverse mode (grad, vjp, "
        "jacrev), but was asked for in forward mode (jvp, jacfwd, or a linearized function "
        "applied). Use reverse mode, or export what jvp of the function gives."
    )


@exported_tangent_p.def_evaluate
def _tangent_evaluate(args: Arrays, params: ExportedTangentParams) -> Arrays:
    raise _forward_mode(params.name)


@exported_tangent_p.def_abstract_eval
def _tangent_type(avals: Avals, params: ExportedTangentParams) -> Avals:
    return params.out_avals


@exported_tangent_p.def_lowering
def _tangent_lowering(b: Lowering, operands: Values, params: ExportedTangentParams) -> Values:
    raise _forward_mode(params.name)


@exported_tangent_p.def_jvp
def _tangent_jvp(primals: Arrays, tangents: Tangents, params: ExportedTangentParams) -> JvpResult:
    raise _forward_mode(params.name)


@exported_tangent_p.def_batch
def _tangent_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: ExportedTangentParams
) -> BatchResult:
    raise _forward_mode(params.name)


@exported_tangent_p.def_transpose
def _tangent_transpose(
    cotangents: Tangents, operands: Operands, params: ExportedTangentParams
) -> Cotangents:
    n = params.num_args
    args = defined(operands[:n])
    assert len(args) == n, "the program's arguments are no tangents"
    found = params.vjp().call(*args, *instantiate_all(cotangents, params.out_avals))
    return [*[None] * n, *of_undefined(operands[n:], found)]


@lru_cache(maxsize=256)
def _calling(program: Program) -> Jaxpr:
    """A jaxpr that does nothing but call it."""

    def call(*args: Array) -> list[Array]:
        return list(bind(call_exported_p, args, CallExportedParams(program)))

    return stage(call, program.in_avals, call).jaxpr


@attrs.frozen
class DisabledSafetyCheck:
    """A check that is not to be made of an exported program.

    Attributes:
        name: which.
    """

    name: str

    @staticmethod
    def platform() -> DisabledSafetyCheck:
        """Do not check that a program is called on a platform that it was exported for."""
        return DisabledSafetyCheck("platform")

    @staticmethod
    def custom_call(target_name: str) -> DisabledSafetyCheck:
        """Do not check that a function that the program calls stays the same: of no effect.

        Such functions are LAPACK's, which stay the same.
        """
        return DisabledSafetyCheck(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the function's name, or None."""
        kind, _, target = self.name.partition(":")
        return target if kind == "custom_call" else None

    def __str__(self) -> str:
        return self.name


#: So many sizes of a program for many are kept, by the sizes and by the types of arguments.
_MOST_KEPT: Final = 512


@attrs.frozen(eq=False)
class Family:
    """A program for many sizes.

    Attributes:
        jaxpr: the program; the arrays that the function closes over are its first parameters.
        solution: how the sizes of a call are found; None of a program with sizes of another.
        variables: what its sizes depend on.
    """

    jaxpr: Jaxpr
    solution: Solution | None
    variables: frozenset[str]


@attrs.frozen(eq=False, repr=False)
class Exported:
    """One signature of a jitted function, ready to be taken elsewhere. Made by ``export``.

    Attributes:
        fun_name: the function's name.
        in_tree: the structure of ``(args, kwargs)``, less the static arguments.
        out_tree: the structure of the result.
        in_avals: the types of the arguments, in the order of ``in_tree``.
        out_avals: the types of the results, in the order of ``out_tree``.
        donated: the arguments whose memory may be reused, by position in ``in_avals``.
        consts: the arrays that the function closed over.
        portable: the program in StableHLO's portable form, as text; empty for symbolic sizes.
            It is for the CPU, if that is among the platforms, or for the first of them.
        platforms: the platforms that it can run on.
        others: the programs for the other platforms, in their order.
        disabled_safety_checks: the checks that are not made.
    """

    fun_name: str
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    donated: tuple[int, ...]
    consts: tuple[Array, ...]
    portable: str
    _make_vjp: Callable[[], Exported] | None
    _family: Family | None = None
    platforms: tuple[str, ...] = (PLATFORM,)
    others: tuple[str, ...] = ()
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...] = ()
    _made: dict[Any, Any] = attrs.field(init=False, factory=dict)

    def __repr__(self) -> str:
        types = ", ".join(map(str, self.in_avals)), ", ".join(map(str, self.out_avals))
        return f"<exported {self.fun_name}: ({types[0]}) -> ({types[1]})>"

    def __reduce__(self) -> tuple[Callable[[bytes], Exported], tuple[bytes]]:
        """Pickle what ``serialize`` writes: the program without its derivative."""
        return deserialize, (self.serialize(),)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the program.

        It may be called within functions that are transformed: ``jit`` makes it part of the larger
        program, ``vmap`` calls it for one example after the other, and ``grad`` uses the derivative
        that it was exported with.

        Args:
            args: of the structure and types that it was exported for; static ones are left out.
            kwargs: likewise.

        Raises:
            ArgumentError: they are of another structure or of other types, or the program is for
                other platforms.
            DifferentiationError: its derivative is asked for, and was not exported with it.
        """
        leaves, in_tree = tree.flatten_arguments(args, kwargs)
        arrays = as_arrays(leaves, self.call, in_tree)
        program = self
        if self.platforms != (platform_in_view.value,):
            program = self._on(platform_in_view.value)
        if program._family is not None:
            program = program._of_types(in_tree, arrays)
        return program._call(in_tree, arrays)

    def _call(self, in_tree: PyTreeDef, arrays: Sequence[Array]) -> Any:
        check_arguments(self.fun_name, "exported", self.in_tree, self.in_avals, in_tree, arrays)
        operands = (*self.consts, *arrays)
        if current_trace() is EVAL:
            check_concrete(arrays)
            donated = tuple([len(self.consts) + i for i in self.donated])
            program = JitParams(_calling(self.program), self.fun_name, donated)
            outs = bind(jit_p, operands, program)
        else:
            outs = bind(call_exported_p, operands, CallExportedParams(self.program))
        return tree.unflatten(self.out_tree, outs)

    def _on(self, platform: str) -> Exported:
        """Return the program for a platform: that of this process, or the one in view."""
        if platform not in self.platforms:
            if DisabledSafetyCheck.platform() in self.disabled_safety_checks:
                return self
            raise ArgumentError(
                f"'{self.fun_name}' was exported for {_listed(self.platforms)}, but is called on "
                f"'{platform}'. Export it for that, too: platforms=['{platform}', ...]."
            )
        return self._once(
            ("on", platform),
            lambda: attrs.evolve(
                self, portable=self._portables()[platform], platforms=(platform,), others=()
            ),
        )

    def _portables(self) -> dict[str, str]:
        """The program in portable form, by platform."""
        main, *others = _main_first(self.platforms)
        texts = self.others or ("",) * len(others)  # of a program for many sizes
        return {main: self.portable, **dict(zip(others, texts, strict=True))}

    # Programs for many sizes

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that its symbolic sizes depend on, sorted."""
        return () if self._family is None else tuple(sorted(self._family.variables))

    def with_sizes(self, sizes: Mapping[str, int]) -> Exported:
        """Return the program for given sizes, of one that was exported for symbolic sizes.

        Args:
            sizes: the values of the variables, by name.

        Raises:
            ArgumentError: there is no size for a variable.
            ExportError: the program is not valid for these sizes.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> x = tinyjax.ShapeDtypeStruct(export.symbolic_shape("n"), "float32")
            >>> double = export.export(tinyjax.jit(lambda x: jnp.concatenate([x, x])))(x)
            >>> double
            <exported <lambda>: (float32[n]) -> (float32[2*n])>
            >>> double.with_sizes({"n": 3})
            <exported <lambda>: (float32[3]) -> (float32[6])>
        """
        family = self._family
        if family is None:
            return self
        missing = family.variables - sizes.keys()
        if missing:
            raise ArgumentError(
                f"'{self.fun_name}' was exported for sizes that depend on "
                f"{', '.join(sorted(family.variables))}, but got none for '{min(missing)}'."
            )
        key = tuple(sorted([(name, sizes[name]) for name in family.variables]))
        if key not in self._made and len(self._made) > _MOST_KEPT:
            self._made.clear()
        return self._once(key, lambda: self._sized(family, dict(key)))

    def _sized(self, family: Family, sizes: dict[str, int]) -> Exported:
        make_vjp = None
        if self._make_vjp is not None:
            make_vjp = lambda: self.vjp().with_sizes(sizes)  # noqa: E731 (or None)
        names = set().union(*(variables_of(size) for size in sizes.values()))
        portables = [""]
        with _refusing(f"'{self.fun_name}' is not valid for the sizes {told(sizes)}"):
            jaxpr = with_sizes(family.jaxpr, sizes)
            if not names:
                platforms = _main_first(self.platforms)
                portables = [_portable(jaxpr, self.fun_name, p) for p in platforms]
        return attrs.evolve(
            self,
            in_avals=jaxpr.in_avals[len(self.consts) :],
            out_avals=jaxpr.out_avals,
            portable=portables[0],
            others=tuple(portables[1:]),
            make_vjp=make_vjp,
            family=Family(jaxpr, None, frozenset(names)) if names else None,
        )

    def _of_types(self, in_tree: PyTreeDef, arrays: Sequence[Array]) -> Exported:
        """Return the program for arguments of certain types."""
        avals = tuple([x.aval for x in arrays])
        found: Exported | None = self._made.get((in_tree, avals))
        if found is None:
            family = self._family
            assert family is not None, "other programs are of one type"
            if family.solution is None:  # made for its one caller
                return self
            check_arguments(self.fun_name, "exported", self.in_tree, (), in_tree, ())
            for x, expected in zip(avals, self.in_avals, strict=True):
                if (x.ndim, x.dtype) != (expected.ndim, expected.dtype):
                    check_arguments(
                        self.fun_name, "exported", self.in_tree, self.in_avals, in_tree, arrays
                    )
            sizes = family.solution.sizes(avals)
            found = self.with_sizes(sizes)
            self._made[in_tree, avals] = found
        return found

    @property
    def calling_convention_version(self) -> int:
        """The version of the format."""
        return VERSION

    @property
    def nr_devices(self) -> int:
        """The number of devices that it runs on."""
        return 1

    def mlir_module(self, platform: str | None = None) -> str:
        """Return the program as StableHLO's text.

        Args:
            platform: for which of its platforms; by default for the CPU, or the first of them.

        Raises:
            ArgumentError: it was not exported for the platform.
            ExportError: it is none, or is not of the types that the exported program is said to be;
                or it is for symbolic sizes.
        """
        if self._family is not None:
            raise ExportError(
                f"'{self.fun_name}' was exported for symbolic sizes, and StableHLO is written for "
                "sizes that are known: exported.with_sizes({...}).mlir_module()."
            )
        portable = self.portable
        if platform is not None:
            if platform not in self.platforms:
                raise ArgumentError(
                    f"'{self.fun_name}' was exported for {_listed(self.platforms)}, but its "
                    f"program for '{platform}' is asked for."
                )
            portable = self._portables()[platform]
        ins, outs = tensors(self._parameters), tensors(self.out_avals)
        types = [x.text for x in ins], [x.text for x in outs]
        return self._once(("text", portable), lambda: xla.from_portable(portable, *types))

    @property
    def mlir_module_serialized(self) -> bytes:
        """The program in StableHLO's portable form, as the bytes that other programs take."""
        return xla.to_artifact(self.mlir_module())

    @property
    def _parameters(self) -> tuple[ShapedArray, ...]:
        return (*(const.aval for const in self.consts), *self.in_avals)

    def has_vjp(self) -> bool:
        """Whether the derivative is there: it is unless the program was loaded without."""
        return self._make_vjp is not None

    def vjp(self) -> Exported:
        """Return the program of the derivative, for reverse mode.

        It takes, as positional arguments, the leaves of the arguments and a cotangent for each leaf
        of the result that is a float or complex; it returns a tuple with a cotangent for each leaf
        of the arguments that is.

        Raises:
            ExportError: it is not there.
        """
        if self._make_vjp is None:
            raise ExportError(
                f"'{self.fun_name}' was exported without its derivative. Where it is exported, "
                "keep that with it: exported.serialize(vjp_order=1)."
            )
        return self._once("vjp", self._make_vjp)

    def serialize(self, vjp_order: int = 0, *, key: bytes | None = None) -> bytes:
        """Return the program as bytes, for ``deserialize``.

        Args:
            vjp_order: how often the program can be differentiated, in reverse mode, where it is
                loaded: the program of each derivative is put with it.
            key: a secret, such as ``secrets.token_bytes(32)``, with which the program is signed
                (HMAC with SHA-256): whoever has it can tell who wrote these bytes.

        Raises:
            ExportError: the arguments or results hold nodes of a class that has no name for export,
                or the derivative is not there.
        """
        family = self._family
        solution = None if family is None else family.solution
        content = Content(
            self.fun_name,
            self.in_tree,
            self.out_tree,
            self.in_avals,
            self.out_avals,
            self.donated,
            self.consts,
            self.portable,
            self.vjp().serialize(vjp_order - 1) if vjp_order > 0 else None,
            None if solution is None else solution.scope,
            None if family is None else family.jaxpr,
            self.platforms,
            self.others,
            tuple([check.name for check in self.disabled_safety_checks]),
        )
        return encode(content, key)

    @property
    def program(self) -> Program:
        """The program as the primitive that calls it knows it."""
        return self._once(
            "program",
            lambda: Program(
                self.fun_name,
                self.portable,
                self._parameters,
                self.out_avals,
                len(self.consts),
                self.mlir_module,
                self.vjp if self.has_vjp() else None,
                None if self._family is None else self._family.jaxpr,
                None if self._family is None else self,
            ),
        )

    def _once(self, what: object, make: Callable[[], T]) -> T:
        """Return what ``make`` returned the first time."""
        if what not in self._made:
            self._made[what] = make()
        found: T = self._made[what]
        return found


def export(
    fun: JitFunction[P, Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[P, Exported]:
    """Return a function that exports ``fun`` for its arguments, without running it.

    Shapes are fixed, and so are the values of static arguments and of what the function closes
    over; arrays among these are kept with the program.

    Args:
        fun: what ``jit`` returned.
        platforms: where the program is to run: some of "cpu", "cuda", "rocm" and "tpu"; None for
            the CPU. Each has a program of its own. Here only that for the CPU can be called.
        disabled_checks: what is not checked: with ``DisabledSafetyCheck.platform()`` a program for
            other platforms is called on the CPU.

    Returns:
        A function of the same arguments (a ``ShapeDtypeStruct`` may stand for an array) that
        returns an ``Exported``.

    Raises:
        ArgumentError: ``fun`` is not what ``jit`` returned, or there is no such platform.
        ExportError: when called, if the program calls Python functions (``pure_callback``,
            ``debug.print`` and kin), or closes over a traced value; or, for other platforms than
            the CPU, if it calls LAPACK.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> @tinyjax.jit
        ... def norm(x):
        ...     return jnp.sqrt(jnp.sum(x**2))
        >>> data = export.export(norm)(jnp.zeros(2)).serialize(vjp_order=1)

        Another process, that has ``data`` only:

        >>> loaded = export.deserialize(data)
        >>> loaded
        <exported norm: (float32[2]) -> (float32[])>
        >>> loaded.call(jnp.array([3.0, 4.0]))
        Array(5., dtype=float32)
        >>> tinyjax.grad(loaded.call)(jnp.array([3.0, 4.0]))
        Array([0.6, 0.8], dtype=float32)
    """
    if not isinstance(fun, JitFunction):
        raise ArgumentError(
            f"export takes a jitted function, but got {describe_function(fun)}. Write "
            "export(jit(f))(*args)."
        )

    wanted = (default_export_platform(),) if platforms is None else tuple(platforms)
    unknown = [p for p in wanted if p not in _PLATFORMS]
    if unknown or not wanted or len({*wanted}) < len(wanted):
        raise ArgumentError(
            f"export takes platforms out of {_listed(_PLATFORMS)}, each once, but got "
            f"{[*wanted]!r:.100}."
        )

    @wraps(fun)
    def exporter(*args: P.args, **kwargs: P.kwargs) -> Exported:
        def lower() -> Lowered:
            return fun.lower(*args, **kwargs)

        with scoped(progress=False):  # bars are this process's
            return _export(lower, wanted, tuple(disabled_checks))

    return exporter


#: The platforms that XLA has.
_PLATFORMS: Final = ("cpu", "cuda", "rocm", "tpu")


def _listed(platforms: Sequence[str]) -> str:
    return ", ".join([f"'{p}'" for p in platforms])


def _main_first(platforms: Sequence[str]) -> list[str]:
    """Return the platforms, that of this process first."""
    return sorted(platforms, key=lambda p: p != PLATFORM)


def _export(
    lower: Callable[[], Lowered],
    platforms: tuple[str, ...],
    disabled_checks: tuple[DisabledSafetyCheck, ...],
) -> Exported:
    found: dict[str, Lowered] = {}
    for platform in _main_first(platforms):
        if platform == PLATFORM:
            found[platform] = lower()
        else:
            with platform_in_view(platform):  # functions for platforms are chosen by it
                found[platform] = lower()
    lowered = next(iter(found.values()))
    if any(isinstance(const, Tracer) for const in lowered.consts):
        raise ExportError(
            f"'{lowered.name}' closes over a value that is being traced, so it is no program of "
            "its own. Make that value an argument, or export outside of the transformation."
        )
    if lowered.compilation.placement is not None:
        raise ExportError(
            f"'{lowered.name}' is a program for several devices, which another process may not "
            "have. Export it without shardings."
        )
    for platform, other in found.items():
        _check_alike(platform, other, lowered)
    jaxpr, num_consts = lowered.jaxpr, len(lowered.consts)
    family, portables = None, [""]
    if is_symbolic(jaxpr):
        jaxpr = closed(jaxpr)
        if any(closed(other.jaxpr) != jaxpr for other in found.values()):
            raise ExportError(
                f"'{lowered.name}' does different things on different platforms, and is exported "
                "for symbolic sizes: export it for each platform by itself."
            )
        family = _family(lowered.name, jaxpr, lowered.in_tree, num_consts)
    else:
        portables = [_portable(x.jaxpr, x.name, platform) for platform, x in found.items()]
    return Exported(
        lowered.name,
        lowered.in_tree,
        lowered.out_tree,
        lowered.arguments,
        jaxpr.out_avals,
        tuple([i - num_consts for i in lowered.donated]),
        lowered.consts,
        portables[0],
        lambda: _export_vjp(found, platforms, disabled_checks),
        family,
        platforms,
        tuple(portables[1:]),
        disabled_checks,
    )


def _check_alike(platform: str, other: Lowered, lowered: Lowered) -> None:
    """Check that a program for another platform is called like the first."""
    types = [(x.out_tree, x.jaxpr.type, len(x.consts)) for x in (other, lowered)]
    if types[0] != types[1] or not all(
        x is y or np.array_equal(np.asarray(x), np.asarray(y), equal_nan=is_inexact(x.dtype))
        for x, y in zip(other.consts, lowered.consts, strict=True)
    ):
        raise ExportError(
            f"'{lowered.name}' closes over other arrays or returns other types on '{platform}' "
            "than on other platforms. Export it for each platform by itself."
        )


def _family(name: str, jaxpr: Jaxpr, in_tree: PyTreeDef, num_consts: int) -> Family:
    if effects(jaxpr).any:
        raise _calls_python(name)
    avals = jaxpr.in_avals[num_consts:]
    scope = scope_of(avals, name)
    leaves = tree.leaves_with_path(tree.unflatten(in_tree, range(in_tree.num_leaves)))
    places: list[Place] = []
    for i, ((which, *rest), _) in enumerate(leaves):
        at = path_str("args" if which == SequenceKey(0) else "kwargs", rest)
        places += [
            Place(f"{at}.shape[{axis}]", i, axis, n)
            for axis, n in enumerate(avals[i].shape)
            if is_symbolic_dim(n)
        ]
    solution = Solution.of(name, scope, places)
    known = {step.variable for step in solution.steps}
    inspect(jaxpr, name, scope, known)
    return Family(jaxpr, solution, frozenset(known))


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Refuse a program where something of it cannot be computed with: it may be anybody's."""
    try:
        yield
    except ExportError:
        raise
    except Exception as error:  # of rules, of MLIR
        text = error.message if isinstance(error, TinyjaxError) else str(error)
        raise ExportError(f"{what}: {text}") from error


def _calls_python(name: str) -> ExportError:
    return ExportError(
        f"'{name}' calls Python functions while it runs, which another process does not have. "
        "Leave out its callbacks: pure_callback, io_callback, error_if, debug.print and the like."
    )


def _portable(jaxpr: Jaxpr, name: str, platform: str) -> str:
    text, host_functions = xla.lowered(jaxpr, name, platform=platform)
    if host_functions:
        raise _calls_python(name)
    called = re.search(r'call_target_name = "(\w+)"', text)
    if called and platform != PLATFORM:
        raise ExportError(
            f"'{name}' calls '{called[1]}', a function of the processor that '{platform}' does not "
            f"have: of its linear algebra tinyjax knows that of '{PLATFORM}' only. Export it "
            "for that."
        )
    return xla.to_portable(text)


def _export_vjp(
    found: Mapping[str, Lowered],
    platforms: tuple[str, ...],
    disabled_checks: tuple[DisabledSafetyCheck, ...],
) -> Exported:
    lowered = next(iter(found.values()))
    in_avals, out_avals = lowered.arguments, lowered.jaxpr.out_avals
    varies = [is_inexact(aval.dtype) for aval in in_avals]

    def pull_back(*primals_and_cotangents: Array) -> tuple[Array, ...]:
        primals = primals_and_cotangents[: len(in_avals)]
        cotangents = primals_and_cotangents[len(in_avals) :]
        jaxpr = found[platform_in_view.value].jaxpr

        def differentiable(*given: Array) -> list[Array]:
            rest = iter(given)
            args = [next(rest) if v else x for x, v in zip(primals, varies, strict=True)]
            outs = eval_jaxpr(jaxpr, (*lowered.consts, *args))
            return [out for out in outs if is_inexact(out.dtype)]

        _, pull = vjp(differentiable, *[x for x, v in zip(primals, varies, strict=True) if v])
        return tuple(pull(list(cotangents)))

    pull_back.__name__ = f"vjp_{lowered.name}"
    avals = (*in_avals, *(aval for aval in out_avals if is_inexact(aval.dtype)))
    # lower takes these in place of arrays, which is beyond what the signature of a function says
    structs: list[Any] = [ShapeDtypeStruct(a.shape, a.dtype, a.weak_type) for a in avals]
    return _export(lambda: jit(pull_back).lower(*structs), platforms, disabled_checks)


def deserialize(data: bytes | bytearray, *, key: bytes | None = None) -> Exported:
    """Return the exported program that ``Exported.serialize`` wrote.

    The program is parsed and verified here: it computes results of the types that it says from
    arguments of such types, and does nothing else. It may still compute something else than you
    expect, take all memory, or never end, and a fault of the compiler may make more of it. So load
    what comes from where you would take a program from; a signature tells.

    Args:
        data: the bytes.
        key: the secret that the program must be signed with.

    Raises:
        ExportError: they are no exported program, are damaged, or are of a version not known here;
            or the program was not signed with the key, is not what it says that it is, or takes
            nodes of a class that has no name for export in this process.
    """
    if not isinstance(data, bytes | bytearray):
        raise ArgumentError(f"deserialize takes bytes, but got a {type(data).__name__}.")
    content = decode(bytes(data), key)
    derivative, family = content.vjp, None
    if content.jaxpr is not None:
        with _refusing("what was exported is no program for symbolic sizes"):
            family = _family(content.name, content.jaxpr, content.in_tree, len(content.consts))
    exported = Exported(
        content.name,
        content.in_tree,
        content.out_tree,
        content.in_avals,
        content.out_avals,
        content.donated,
        content.consts,
        content.portable,
        None if derivative is None else lambda: deserialize(derivative),
        family,
        content.platforms,
        content.others,
        tuple(map(DisabledSafetyCheck, content.disabled_checks)),
    )
    if family is None:
        for platform in exported.platforms:
            exported.mlir_module(platform)
    return exported


def default_export_platform() -> str:
    """Return the platform that programs are exported for, unless another is asked for."""
    return "cpu"
