"""``export``, and ``Exported``: a program that needs nothing of its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

import attrs
import numpy as np

from tinyjax import config, dtypes, errors, tree
from tinyjax._base import frames, tracebacks
from tinyjax._extensions.parallel import meshes, named_sharding
from tinyjax._extensions.parallel.constraint import constrain
from tinyjax._extensions.parallel.sharding import Sharding
from tinyjax.core import api, jit
from tinyjax.core.devices import PLATFORM, device_at, platform_in_view, traced_platform
from tinyjax.core.jit import stages
from tinyjax.core.jit.stages import check_arguments
from tinyjax.core.lowering import tensors
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.tracing.calling import as_arrays
from tinyjax.core.values import Array, avals as av, concrete
from tinyjax.export import families, format, polynomials, symbolic_programs, xla
from tinyjax.export.calling import CallExportedParams, call_exported_p, calling
from tinyjax.export.symbolic_programs import ExportedProgram, refusing, sizes_text, with_sizes

# ``Exported``: a program that needs nothing of its source.


T = TypeVar("T")


#: So many sizes of a program for many are kept, by the sizes and by the types of arguments.
_MOST_KEPT: Final = 512


@attrs.frozen(eq=False, repr=False)
class Exported(format.Description):
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

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> export.export(tinyjax.jit(lambda x: 2 * x))(jnp.zeros(3))
        <exported <lambda>: (float32[3]) -> (float32[3])>
    """

    _make_vjp: Callable[[], Exported] | None = None
    _family: families.ProgramFamily | None = None
    _divided: families.ShardedForm | None = None
    _cache: dict[Any, Any] = attrs.field(init=False, factory=dict)

    def __repr__(self) -> str:
        types = ", ".join(map(str, self.in_avals)), ", ".join(map(str, self.out_avals))
        return f"<exported {self.fun_name}: ({types[0]}) -> ({types[1]})>"

    def __reduce__(self) -> tuple[Callable[[bytes], Exported], tuple[bytes]]:
        """Pickle the result of ``serialize``: the program without its derivative."""
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
            DifferentiationError: its derivative is requested, and was not exported with it.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> square = export.export(tinyjax.jit(lambda x: x * x))(jnp.float32(0.0))
            >>> square.call(jnp.float32(3.0)), tinyjax.grad(square.call)(jnp.float32(3.0))
            (Array(9., dtype=float32), Array(6., dtype=float32))
        """
        leaves, in_tree = tree.flatten_arguments(args, kwargs)
        arrays = as_arrays(leaves, self.call, in_tree)
        program = self
        platform = families.platform_of(arrays)
        if self.platforms != (platform,):
            program = self._for_platform(platform)
        if program._family is not None:
            program = program._of_types(in_tree, arrays)
        return program._call(in_tree, arrays)

    def _call(self, in_tree: tree.PyTreeDef, arrays: Sequence[Array]) -> Any:
        check_arguments(self.fun_name, "exported", self.in_tree, self.in_avals, in_tree, arrays)
        operands: Sequence[Array] = (*self.consts, *arrays)
        if self._divided is not None:
            return self._call_on_devices(self._divided, operands)
        if tr.current_trace().evaluates:
            tr.check_concrete(arrays)
        donated = tuple([len(self.consts) + i for i in self.donated])
        return tree.unflatten(self.out_tree, _run(self.program, operands, donated))

    def _call_on_devices(self, divided: families.ShardedForm, operands: Sequence[Array]) -> Any:
        """Call a program for several devices, on those where its arguments lie."""
        arrays = operands[len(self.consts) :]
        devices = families.devices_of(self.fun_name, arrays, divided.nr_devices)
        on_devices = divided
        if devices is not None:
            on_devices = self._once(("on devices", devices), lambda: divided.for_devices(devices))
        operands = families.with_shardings(operands, on_devices.ins, on_devices.mesh)
        program = ExportedProgram(
            self.fun_name,
            "",
            on_devices.jaxpr.in_avals,
            on_devices.jaxpr.out_avals,
            len(self.consts),
            self.mlir_module,
            self._pull_back if self.has_vjp() else None,
            divided=on_devices.jaxpr,
        )
        placed = [
            constrain(x, sharding) if sharding is not None else x
            for x, sharding in zip(_run(program, operands), on_devices.outs, strict=True)
        ]
        return tree.unflatten(self.out_tree, placed)

    def _for_platform(self, platform: str) -> Exported:
        """Return the program for a platform."""
        if platform not in self.platforms:
            if format.DisabledSafetyCheck.platform() in self.disabled_safety_checks:
                return self
            raise errors.ArgumentError(
                f"'{self.fun_name}' was exported for {families.listed(self.platforms)}, but is "
                f"called on '{platform}'. Export it for that, too: platforms=['{platform}', ...]."
            )
        return self._once(
            ("on", platform),
            lambda: attrs.evolve(
                self, portable=self._portables()[platform], platforms=(platform,), others=()
            ),
        )

    def _portables(self) -> dict[str, str]:
        """Return the program in portable form, by platform."""
        main, *others = families.main_first(self.platforms)
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
            raise errors.ArgumentError(
                f"'{self.fun_name}' was exported for sizes that depend on "
                f"{', '.join(sorted(family.variables))}, but got none for '{min(missing)}'."
            )
        key = tuple(sorted([(name, sizes[name]) for name in family.variables]))
        if key not in self._cache and len(self._cache) > _MOST_KEPT:
            self._cache.clear()
        return self._once(key, lambda: self._sized(family, dict(key)))

    def _sized(self, family: families.ProgramFamily, sizes: dict[str, int]) -> Exported:
        make_vjp = None
        if self._make_vjp is not None:
            make_vjp = lambda: self.vjp().with_sizes(sizes)  # noqa: E731 (or None)
        names = set().union(*(families.variables_of(size) for size in sizes.values()))
        portables = [""]
        with refusing(f"'{self.fun_name}' is not valid for the sizes {sizes_text(sizes)}"):
            jaxpr = with_sizes(family.jaxpr, sizes)
            if not names:
                platforms = families.main_first(self.platforms)
                portables = [families.portable_form(jaxpr, self.fun_name, p) for p in platforms]
        return attrs.evolve(
            self,
            in_avals=jaxpr.in_avals[len(self.consts) :],
            out_avals=jaxpr.out_avals,
            portable=portables[0],
            others=tuple(portables[1:]),
            make_vjp=make_vjp,
            family=families.ProgramFamily(jaxpr, None, frozenset(names)) if names else None,
        )

    def _of_types(self, in_tree: tree.PyTreeDef, arrays: Sequence[Array]) -> Exported:
        """Return the program for arguments of certain types."""
        avals = tuple([x.aval for x in arrays])
        exported: Exported | None = self._cache.get((in_tree, avals))
        if exported is None:
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
            exported = self.with_sizes(sizes)
            self._cache[in_tree, avals] = exported
        return exported

    @property
    def calling_convention_version(self) -> int:
        """The version of the format."""
        return format.VERSION

    @property
    def nr_devices(self) -> int:
        """The number of devices that it runs on."""
        return 1 if self._divided is None else self._divided.nr_devices

    @property
    def in_shardings_hlo(self) -> tuple[None, ...]:
        """None for each argument, as in JAX where they lie by named axes: ``in_shardings_jax``."""
        return (None,) * len(self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[None, ...]:
        """None for each result, likewise: ``out_shardings_jax``."""
        return (None,) * len(self.out_avals)

    def in_shardings_jax(
        self, mesh: meshes.Mesh
    ) -> tuple[named_sharding.NamedSharding | None, ...]:
        """Return how the arguments lie, on the devices of a mesh of as many.

        Args:
            mesh: gives the devices; its axes do not matter.

        Raises:
            ArgumentError: it has not as many devices.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> program = export.export(tinyjax.jit(jnp.sin))(jnp.ones(2))
            >>> program.in_shardings_jax(tinyjax.make_mesh((1,), ("data",)))
            (None,)
        """
        divided = self._on_mesh(mesh)
        return (None,) * len(self.in_avals) if divided is None else divided.ins[len(self.consts) :]

    def out_shardings_jax(
        self, mesh: meshes.Mesh
    ) -> tuple[named_sharding.NamedSharding | None, ...]:
        """Return how the results lie, on the devices of a mesh of as many; None as XLA chooses.

        Args:
            mesh: gives the devices; its axes do not matter.

        Raises:
            ArgumentError: it has not as many devices.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> program = export.export(tinyjax.jit(jnp.sin))(jnp.ones(2))
            >>> program.out_shardings_jax(tinyjax.make_mesh((1,), ("data",)))
            (None,)
        """
        divided = self._on_mesh(mesh)
        return (None,) * len(self.out_avals) if divided is None else divided.outs

    def _on_mesh(self, mesh: meshes.Mesh) -> families.ShardedForm | None:
        if self._divided is None:
            return None
        if mesh.size != self.nr_devices:
            raise errors.ArgumentError(
                f"'{self.fun_name}' was exported for {self.nr_devices} devices, but {mesh} has "
                f"{mesh.size}."
            )
        return self._divided.for_devices([device_at(i) for i in mesh.ids])

    def mlir_module(self, platform: str | None = None) -> str:
        """Return the program as StableHLO's text.

        Args:
            platform: for which of its platforms; by default for the CPU, or the first of them.

        Raises:
            ArgumentError: it was not exported for the platform.
            ExportError: it is none, or is not of the types that the exported program is said to be;
                or it is for symbolic sizes.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> "stablehlo.sine" in export.export(tinyjax.jit(jnp.sin))(jnp.ones(2)).mlir_module()
            True
        """
        if self._divided is not None:
            return self._divided.text
        if self._family is not None:
            raise errors.ExportError(
                f"'{self.fun_name}' was exported for symbolic sizes, and StableHLO is written for "
                "sizes that are known: exported.with_sizes({...}).mlir_module()."
            )
        portable = self.portable
        if platform is not None:
            if platform not in self.platforms:
                raise errors.ArgumentError(
                    f"'{self.fun_name}' was exported for {families.listed(self.platforms)}, but "
                    f"its program for '{platform}' is asked for."
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
    def _parameters(self) -> tuple[av.ShapedArray, ...]:
        return (*(const.aval for const in self.consts), *self.in_avals)

    def has_vjp(self) -> bool:
        """Return whether the derivative is there: it is unless the program was loaded without.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> program = export.export(tinyjax.jit(jnp.sin))(jnp.ones(2))
            >>> program.has_vjp(), export.deserialize(program.serialize()).has_vjp()
            (True, False)
        """
        return self._make_vjp is not None

    def vjp(self) -> Exported:
        """Return the program of the derivative, for reverse mode.

        Its positional arguments are the leaves of the arguments, and a cotangent for each leaf of
        the result that is a float or complex. It returns a tuple with a cotangent for each leaf of
        the arguments that is a float or complex.

        Raises:
            ExportError: it is not there.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> square = export.export(tinyjax.jit(lambda x: x * x))(jnp.float32(0.0))
            >>> square.vjp().call(jnp.float32(3.0), jnp.float32(1.0))
            (Array(6., dtype=float32),)
        """
        if self._make_vjp is None:
            raise errors.ExportError(
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

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> program = export.export(tinyjax.jit(jnp.cos))(jnp.ones(2))
            >>> data = program.serialize(vjp_order=1)
            >>> export.deserialize(data).call(jnp.zeros(2))
            Array([1., 1.], dtype=float32)
        """
        family, divided = self._family, self._divided
        solution = None if family is None else family.solution
        program = divided if family is None else family
        content = format.Content(
            **self.description(),
            vjp=self.vjp().serialize(vjp_order - 1) if vjp_order > 0 else None,
            scope=None if solution is None else solution.scope,
            jaxpr=None if program is None else program.jaxpr,
            shardings=None if divided is None else (divided.ins, divided.outs),
        )
        return format.encode(content, key)

    @property
    def program(self) -> ExportedProgram:
        """The program as the primitive that calls it knows it."""
        return self._once(
            "program",
            lambda: ExportedProgram(
                self.fun_name,
                self.portable,
                self._parameters,
                self.out_avals,
                len(self.consts),
                self.mlir_module,
                self._pull_back if self.has_vjp() else None,
                None if self._family is None else self._family.jaxpr,
                None if self._family is None else lambda sizes: self.with_sizes(sizes).program,
            ),
        )

    def _pull_back(self, *primals_and_cotangents: Array) -> Any:
        return self.vjp().call(*primals_and_cotangents)

    def _once(self, what: object, make: Callable[[], T]) -> T:
        """Return the first result of ``make``."""
        if what not in self._cache:
            self._cache[what] = make()
        result: T = self._cache[what]
        return result


def _run(
    program: ExportedProgram, operands: Sequence[Array], donated: tuple[int, ...] = ()
) -> Sequence[Array]:
    if tr.current_trace().evaluates:
        return tr.bind(jit.jit_p, operands, jit.JitParams(calling(program), program.name, donated))
    return tr.bind(call_exported_p, operands, CallExportedParams(program))


#: How long the sizes of a program may be compared while it is loaded: a program of tinyjax's takes
#: less than half a step for each of its bytes, and one that was forged would take any number.
_STEPS_OF_A_BYTE: Final = 20


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
        ExportError: they are no exported program, are damaged, or are of an unknown version. Also
            if the program was not signed with the key, differs from its description, or takes nodes
            of a class that has no name for export in this process.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> data = export.export(tinyjax.jit(lambda x: 2 * x))(jnp.zeros(2)).serialize()
        >>> export.deserialize(data).call(jnp.array([1.0, 2.0]))
        Array([2., 4.], dtype=float32)
    """
    if not isinstance(data, bytes | bytearray):
        raise errors.ArgumentError(f"deserialize takes bytes, but got a {errors.type_name(data)}.")
    family, divided = None, None
    with polynomials.limited(_STEPS_OF_A_BYTE * len(data)):
        content = format.decode(bytes(data), key)
        if content.jaxpr is not None and content.shardings is not None:
            divided = families.ShardedForm(content.fun_name, content.jaxpr, *content.shardings)
        elif content.jaxpr is not None:
            with refusing("what was exported is no program for symbolic sizes"):
                number = len(content.consts)
                family = families.family_of(
                    content.fun_name, content.jaxpr, content.in_tree, number
                )
    derivative = content.vjp
    exported = Exported(
        **content.description(),
        make_vjp=None if derivative is None else lambda: deserialize(derivative),
        family=family,
        divided=divided,
    )
    if family is None and divided is None:
        with refusing("what was exported is not what it says that it is"):
            for platform in exported.platforms:
                exported.mlir_module(platform)
    return exported


# ``export``: makes of a jitted function a program that needs nothing of its source.


P = ParamSpec("P")


def export(
    fun: Callable[P, Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[format.DisabledSafetyCheck] = (),
) -> Callable[P, Exported]:
    """Return a function that exports ``fun`` for its arguments, without running it.

    Shapes are fixed, and so are the values of static arguments and of what the function closes
    over; arrays among these are kept with the program.

    Args:
        fun: what ``jit`` returned, or a function of this library.
        platforms: where the program is to run: some of "cpu", "cuda", "rocm" and "tpu"; None for
            the platform of the default device. Each has a program of its own. Here those for "cpu"
            and "cuda" can be called.
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
    jitted: object = fun
    if not isinstance(jitted, jit.JitFunction):
        if str(getattr(fun, "__module__", "")).startswith("tinyjax."):
            return export(jit.jit(fun), platforms=platforms, disabled_checks=disabled_checks)
        raise errors.ArgumentError(
            f"export takes a jitted function, but got {frames.describe_function(fun)}. Write "
            "export(jit(f))(*args)."
        )

    program: jit.JitFunction[P, Any] = jitted
    targets = (families.default_export_platform(),) if platforms is None else tuple(platforms)
    unknown = [p for p in targets if p not in families.PLATFORMS]
    if unknown or not targets or len({*targets}) < len(targets):
        raise errors.ArgumentError(
            f"export takes platforms out of {families.listed(families.PLATFORMS)}, each once, but "
            f"got {[*targets]!r:.100}."
        )

    @partial(tracebacks.folded, named=fun)
    def exporter(*args: P.args, **kwargs: P.kwargs) -> Exported:
        def lower() -> stages.Lowered:
            return program.lower(*args, **kwargs)

        with config.scoped(progress=False):  # bars are this process's
            return exported_of(lower, targets, tuple(disabled_checks))

    return exporter


def _lowered_for(
    lower: Callable[[], stages.Lowered], platforms: tuple[str, ...]
) -> dict[str, stages.Lowered]:
    """Lower a function for each platform, the main one first."""
    by_platform: dict[str, stages.Lowered] = {}
    for platform in families.main_first(platforms):
        with config.scoped(default_device=PLATFORM):  # which is another in other processes
            if platform == PLATFORM:
                by_platform[platform] = lower()
            else:
                with platform_in_view(platform):  # functions for platforms are chosen by it
                    by_platform[platform] = lower()
    return by_platform


def _check_exportable(lowered: stages.Lowered, platforms: tuple[str, ...]) -> None:
    """Raise where a program is part of another, has state, or is for several devices."""
    if any(isinstance(const, tr.Tracer) for const in lowered.consts):
        raise errors.ExportError(
            f"'{lowered.name}' closes over a value that is being traced, so it is no program of "
            "its own. Make that value an argument, or export outside of the transformation."
        )
    if not all(note.lasting for note in lowered.staged.hooks):
        raise errors.ExportError(
            f"'{lowered.name}' uses a Ref that was made outside of it, which is no part of a "
            "program. Pass in ref[...], and return the new value."
        )
    if lowered.compilation.placement is not None and platforms != (PLATFORM,):
        raise errors.ExportError(
            f"'{lowered.name}' is a program for several devices, which is exported for "
            f"'{PLATFORM}' alone, but platforms are {families.listed(platforms)}."
        )


def exported_of(
    lower: Callable[[], stages.Lowered],
    platforms: tuple[str, ...],
    disabled_checks: tuple[format.DisabledSafetyCheck, ...],
) -> Exported:
    """Export a lowered function.

    Args:
        lower: lowers it for the platform in view.
        platforms: where the program is to run.
        disabled_checks: what is not checked.

    Raises:
        ExportError: as of ``export``.
    """
    by_platform = _lowered_for(lower, platforms)
    lowered = next(iter(by_platform.values()))
    _check_exportable(lowered, platforms)
    placement = lowered.compilation.placement
    for platform, other in by_platform.items():
        _check_alike(platform, other, lowered)
    jaxpr, num_consts = lowered.jaxpr, len(lowered.consts)
    family, divided, portables = None, None, [""]
    if placement is not None:
        if symbolic_programs.is_symbolic(jaxpr):
            raise errors.ExportError(
                f"'{lowered.name}' is a program for several devices, and is exported for symbolic "
                "sizes: export it for sizes that are numbers."
            )
        divided = families.divided_of(lowered.name, jaxpr, placement)
        jaxpr = divided.jaxpr
    elif symbolic_programs.is_symbolic(jaxpr):
        jaxpr = symbolic_programs.closed(jaxpr)
        if any(symbolic_programs.closed(other.jaxpr) != jaxpr for other in by_platform.values()):
            raise errors.ExportError(
                f"'{lowered.name}' does different things on different platforms, and is exported "
                "for symbolic sizes: export it for each platform by itself."
            )
        family = families.family_of(lowered.name, jaxpr, lowered.in_tree, num_consts)
    else:
        portables = [
            families.portable_form(x.jaxpr, x.name, platform) for platform, x in by_platform.items()
        ]
    return Exported(
        lowered.name,
        lowered.in_tree,
        lowered.out_tree,
        jaxpr.in_avals[num_consts:],
        jaxpr.out_avals,
        tuple([i - num_consts for i in lowered.donated]),
        tuple([x.gathered if isinstance(x, concrete.PlacedArray) else x for x in lowered.consts]),
        portables[0],
        platforms,
        tuple(portables[1:]),
        disabled_checks,
        lambda: _export_vjp(by_platform, platforms, disabled_checks),
        family,
        divided,
    )


def _check_alike(platform: str, other: stages.Lowered, lowered: stages.Lowered) -> None:
    """Check that a program for another platform is called like the first."""
    types = [(x.out_tree, x.jaxpr.type, len(x.consts)) for x in (other, lowered)]
    if types[0] != types[1] or not all(
        x is y or np.array_equal(np.asarray(x), np.asarray(y), equal_nan=dtypes.is_inexact(x.dtype))
        for x, y in zip(other.consts, lowered.consts, strict=True)
    ):
        raise errors.ExportError(
            f"'{lowered.name}' closes over other arrays or returns other types on '{platform}' "
            "than on other platforms. Export it for each platform by itself."
        )


def _export_vjp(
    by_platform: Mapping[str, stages.Lowered],
    platforms: tuple[str, ...],
    disabled_checks: tuple[format.DisabledSafetyCheck, ...],
) -> Exported:
    lowered = next(iter(by_platform.values()))
    in_avals, out_avals = lowered.arguments, lowered.jaxpr.out_avals
    varies = [dtypes.is_inexact(aval.dtype) for aval in in_avals]

    def pull_back(*primals_and_cotangents: Array) -> tuple[Array, ...]:
        primals = primals_and_cotangents[: len(in_avals)]
        cotangents = primals_and_cotangents[len(in_avals) :]
        jaxpr = by_platform[traced_platform()].jaxpr

        def differentiable(*operands: Array) -> list[Array]:
            rest = iter(operands)
            args = [next(rest) if v else x for x, v in zip(primals, varies, strict=True)]
            outs = jx.eval_jaxpr(jaxpr, (*lowered.consts, *args))
            return [out for out in outs if dtypes.is_inexact(out.dtype)]

        _, pull = api.vjp(differentiable, *[x for x, v in zip(primals, varies, strict=True) if v])
        return tuple(pull(list(cotangents)))

    pull_back.__name__ = f"vjp_{lowered.name}"
    placement = lowered.compilation.placement
    lie_in: Sequence[Sharding | None] = [None] * len(in_avals)
    lie_out: Sequence[Sharding | None] = [None] * len(out_avals)
    if placement is not None:
        lie_in, lie_out = placement.ins[len(lowered.consts) :], placement.outs
    # lower takes these in place of arrays, which is beyond what the signature of a function says
    structs: list[Any] = [
        *map(_struct, in_avals, lie_in),
        *[
            _struct(aval, sharding if aval.sharding_or_none is None else aval.cotangent().sharding)
            for aval, sharding in zip(out_avals, lie_out, strict=True)
            if dtypes.is_inexact(aval.dtype)
        ],
    ]
    return exported_of(lambda: jit.jit(pull_back).lower(*structs), platforms, disabled_checks)


def _struct(aval: av.ShapedArray, sharding: Sharding | None) -> av.ShapeDtypeStruct:
    return av.ShapeDtypeStruct(aval.shape, aval.dtype, aval.weak_type, sharding=sharding)
