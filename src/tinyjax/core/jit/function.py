"""``jit``: staging a function once per signature, and compiling it once per program.

A call looks up its signature (the structure and types of its arguments, the values of static ones,
the settings); a signature seen before runs the compiled program at once.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from types import MethodType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, overload

import attrs

from tinyjax import errors, tree
from tinyjax._base import lazy
from tinyjax._base.frames import describe_function, imitate, warn_user
from tinyjax._base.pickling import PickledAsFunction
from tinyjax.config import is_tracing_forbidden, settings
from tinyjax.core import jit, xla
from tinyjax.core.jit import signatures
from tinyjax.core.jit.program import JitParams, jit_p
from tinyjax.core.jit.signatures import NO_TRACES, Entry, Traces, traces_of
from tinyjax.core.tracing import calling, jaxpr as jx, trace as tr
from tinyjax.core.tracing.calling import HOLDERS, held_leaves, opened
from tinyjax.core.tracing.staging import Staged, call_staged, is_called, placeholders, stage_call
from tinyjax.core.tracing.watching import watched
from tinyjax.core.values.array import Array
from tinyjax.core.xla.compilation import timed
from tinyjax.dtypes import beside

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


class _SignatureOfFunction:
    """The signature of the jitted function, for tools that do not follow ``__wrapped__``."""

    def __get__(
        self, instance: JitFunction[..., Any] | None, owner: type
    ) -> inspect.Signature | None:
        try:
            return None if instance is None else inspect.signature(instance._fun)
        except (TypeError, ValueError):  # some of those that C defines have none
            return None


class JitFunction(signatures.Called[P, R], PickledAsFunction):
    """Compile a function when it is called; made by ``jit``."""

    __name__: str
    __signature__: _SignatureOfFunction = _SignatureOfFunction()
    __wrapped__: Callable[P, R]
    #: Programs that hold for some data, where the function decides by data.
    _guarded: Any = None

    def __init__(self, parameters: signatures.Parameters) -> None:
        fun = parameters.fun
        imitate(self, fun)
        self._fun = fun
        name = getattr(fun, "__name__", None)
        self._name = name if isinstance(name, str) else type(fun).__name__
        self._parameters = parameters

    def __copy__(self) -> JitFunction[P, R]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> JitFunction[P, R]:
        """Copy the object that the function is bound to, as Python does, but no function."""
        fun = deepcopy(self._fun, memo)
        return self if fun is self._fun else type(self)(attrs.evolve(self._parameters, fun=fun))

    @watched
    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        if is_called():
            return self._run(args, kwargs)
        leaves, in_tree, static = self._parameters.split(args, kwargs)
        objects: Sequence[Any] = ()
        if HOLDERS:
            leaves, in_tree, objects = opened(leaves, in_tree)
        arrays = calling.as_arrays(leaves, self._fun, in_tree, static.positions)
        signature = signatures.make_signature(in_tree, [x.aval for x in arrays], static)
        traces = self._find()
        entry = traces.entries.get(signature)
        if entry is None:
            if not self._guarded:
                try:
                    entry = self._trace(signature)
                except errors.UndecidedError:
                    self._guarded = lazy.hook("guards").GuardedPrograms(self)
            if entry is None:
                guarded: R = self._guarded.call(signature, args, kwargs)
                return guarded
        if entry.staged.hooks:
            return self._call_noted(signature, entry, arrays, objects)
        trace = tr.current_trace()
        operands = (*entry.consts, *arrays)
        if trace.evaluates:
            tr.check_concrete(operands)
            program = entry.executable
            outs = entry.run(operands)
            # most programs are called once
            if program is not None and program is entry.executable and signature in traces.entries:
                short = traces.short_for(entry.settings)
                call = (args, kwargs, leaves, in_tree, static)
                short.learn(self._parameters, *call, entry, program)
            elif entry.executable is None and not static.positions and not static.keywords:
                traces.learn_evaluated(entry, args, kwargs, leaves, in_tree)
        elif self._parameters.inline:
            outs = jx.eval_jaxpr(entry.params.jaxpr, operands)
        else:
            outs = trace.process(jit_p, operands, entry.params)
        result: R = tree.unflatten(entry.out_tree, outs)
        return result

    def _call_noted(
        self,
        signature: signatures.Signature,
        entry: Entry,
        arrays: Sequence[Array],
        objects: Sequence[Any],
    ) -> R:
        """Call a program with hooks of extensions.

        Args:
            signature: the signature that it was staged for.
            entry: the program.
            arrays: the arguments.
            objects: the arguments that hold arrays in place.
        """
        entry = self._serving(signature, entry, objects)
        trace = tr.current_trace()

        def bind(staged: Staged, args: Sequence[Array]) -> Sequence[Array]:
            operands = (*entry.consts, *args)
            if trace.evaluates:
                tr.check_concrete(operands)
                return entry.run(operands)
            return trace.process(jit_p, operands, entry.params)

        result: R = tree.unflatten(entry.out_tree, call_staged(entry.staged, arrays, bind, objects))
        return result

    def _serving(
        self, signature: signatures.Signature, entry: Entry, objects: Sequence[Any]
    ) -> Entry:
        """Return the program, or one that is traced anew where it does not serve any more."""
        by = describe_function(self._fun)
        while not all(note.serves(by, objects) for note in entry.staged.hooks):
            entry = self._trace(signature)
        return entry

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        """Run the function itself on arrays, as the setting ``disable_jit`` asks for."""
        leaves, in_tree, static = self._parameters.split(args, kwargs)
        with beside(leaves):
            arrays = [
                x
                if isinstance(x, Array) or type(x) in HOLDERS
                else calling.as_argument(x, self._fun, in_tree, i, static.positions)
                for i, x in enumerate(leaves)
            ]
        flat = calling.FlatFunction(static.bind(self._fun), in_tree, user_fun=self._fun)
        with beside(arrays):
            outs = flat(*arrays)
        result: R = tree.unflatten(flat.out_tree, outs)
        return result

    def _find(self) -> Traces:
        """Return the programs of earlier calls, of this object and of its equivalents."""
        if self._traces is NO_TRACES:
            self._traces = traces_of(self._fun, (self._name, self._parameters.options))
        return self._traces

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Callable[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> calling.BoundMethod[Q, R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind as a method does, so that methods can be jitted."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {describe_function(self._fun)}>"

    def without_static(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return the function of the arguments that are not static, for a call, and these.

        Example:
            >>> import tinyjax
            >>> power = tinyjax.jit(lambda x, n: x**n, static_argnums=1)
            >>> square, args, _ = power.without_static((3.0, 2), {})
            >>> args, square(*args)
            ((3.0,), Array(9., dtype=float32, weak_type=True))
        """
        static, dynamic, keywords = self._parameters.separate(args, kwargs)
        return static.bind(self), dynamic, keywords

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> jit.Lowered:
        """Stage and lower the function for these arguments without running it.

        Args:
            args: as in a call; a ``ShapeDtypeStruct`` may stand for an array.
            kwargs: likewise.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> lowered = tinyjax.jit(jnp.sin).lower(1.0)
            >>> "stablehlo.sine" in lowered.as_text()
            True
        """
        leaves, in_tree, static = self._parameters.split(args, kwargs)
        leaves, in_tree, objects = opened(leaves, in_tree)
        avals = calling.as_avals(leaves, self._fun, in_tree, static.positions)
        signature = signatures.make_signature(in_tree, avals, static)
        entry = self._find().entries.get(signature) or self._trace(signature)
        entry = self._serving(signature, entry, objects)
        kept = [x.contents for x in entry.staged.cells_in]
        operands = [*entry.consts, *leaves, *kept]
        compilation, _ = xla.place(entry.params.compilation, operands)
        return jit.Lowered(compilation, entry.staged, signature.in_tree, entry.out_tree)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> jit.Traced:
        """Stage the function for these arguments without lowering it.

        Args:
            args: as in a call; a ``ShapeDtypeStruct`` may stand for an array.
            kwargs: likewise.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> tinyjax.jit(jnp.sin).trace(1.0).jaxpr
            { lambda a:float32[] .
              let b:float32[] = sin a
              in ( b ) }
        """
        return jit.Traced(self.lower(*args, **kwargs))

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the shapes and dtypes of the result without computing it.

        The function is traced, once for each signature.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> tinyjax.jit(jnp.outer).eval_shape(jnp.ones(2), jnp.ones(3))
            ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        return self.trace(*args, **kwargs).out_info

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> jit.Explanation:
        """Explain whether a call with these arguments would trace or compile, and why.

        The function is traced if the call would trace it, but nothing is compiled, run or kept.
        With the setting ``explain`` every call that traces or compiles is reported to the logger
        ``tinyjax``.

        Args:
            args: as in a call; a ``ShapeDtypeStruct`` may stand for an array.
            kwargs: likewise.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> @tinyjax.jit
            ... def scale(x, by):
            ...     return x * by
            >>> _ = scale(jnp.ones(3), 2.0)
            >>> print(scale.explain(jnp.ones(3), jnp.ones(3)).differences)
            ('by: float32[3] instead of float32[]',)
        """
        signature = self._signature(args, kwargs)
        entry = self._find().entries.get(signature)
        program = entry or self._stage(signature)[0]
        if program.staged.cells_in:
            raise errors.OuterRefError(
                f"{describe_function(self._fun)} uses a Ref that was made outside of it. It can be "
                "called, but its program is no function of its arguments: pass in ref[...], and "
                "return the new value."
            )
        return self._explain(signature, entry, program)

    def _explain(
        self, signature: signatures.Signature, cached: Entry | None, entry: Entry
    ) -> jit.Explanation:
        different: tuple[str, ...] = ()
        reasons: list[str] = []
        if cached is None:
            earlier = [*self._find().entries]
            different = jit.differences(self._fun, signature, earlier)
            if not earlier:
                reasons.append("it is the first call of this function object")
            elif not different:
                reasons.append("the function closes over a value that is being traced")
        params = entry.params
        if (params.tier or settings().tier) != "compiled":
            reasons += filter(None, [xla.history(params.compilation)])
        absent = xla.is_absent()
        compiled = entry.executable is not None or (
            not absent and xla.is_compiled(params.compilation)
        )
        if compiled and cached is None:
            reasons.append("an equal program was compiled before")
        name = describe_function(self._fun)
        return jit.Explanation(
            name, cached is None, not (compiled or absent), different, tuple(reasons)
        )

    def _signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> signatures.Signature:
        leaves, in_tree, static = self._parameters.split(args, kwargs)
        avals = calling.as_avals(leaves, self._fun, in_tree, static.positions)
        return signatures.make_signature(in_tree, avals, static)

    def _cache_size(self) -> int:
        """Count the signatures that have a program; tests written for JAX use the name."""
        return len(self._find().entries)

    def clear_cache(self) -> None:
        """Forget every signature, also for other ``jit`` objects that were made of the same.

        Compiled programs stay in the process-wide cache.

        Example:
            >>> import tinyjax
            >>> double = tinyjax.jit(lambda x: 2 * x)
            >>> _ = double(1.0)
            >>> double.clear_cache()
            >>> double.explain(1.0).traces
            True
        """
        self._find().clear()

    def _trace(self, signature: signatures.Signature) -> Entry:
        if is_tracing_forbidden():
            raise errors.TracingForbiddenError(
                f"{describe_function(self._fun)} would be traced for a call, but no_tracing is in "
                "force here: it was not called before with arguments of these types."
            )
        entry, kept = self._stage(signature)
        if signature.settings.explain:
            self._report(signature, entry)
        if kept:
            self._find().add(signature, entry)
        return entry

    def _report(self, signature: signatures.Signature, entry: Entry) -> None:
        """Say why a function was traced."""
        self._explain(signature, None, entry).log()

    def _stage(self, signature: signatures.Signature) -> tuple[Entry, bool]:
        """Record the program of a signature; return also whether later calls may use it."""
        in_tree, static = signature.in_tree, signature.static
        called = static.bind(self._fun)
        placed = self._parameters.placed
        if placed is not None and not any(held_leaves(in_tree)):
            called = placed.around(called)
        flat = calling.FlatFunction(called, in_tree, user_fun=self._fun, static=static.positions)
        before = placeholders.get()
        with timed("/jax/core/compile/jaxpr_trace_duration"):
            staged = stage_call(flat, signature.avals, self._fun, often=True)
        donated: list[int] = []
        # with the setting for debugging, the program may have to run again
        if not (signature.settings.debugging or staged.cells_in or staged.cells_out):
            donated = [len(staged.consts) + i for i in self._parameters.donated(in_tree, static)]
        if donated and isinstance(tr.current_trace(), tr.EvalTrace):
            self._check_donations(staged.jaxpr, donated)
        return self._entry_of(staged, flat.out_tree, tuple(donated), before)

    def _check_donations(self, jaxpr: jx.Jaxpr, donated: Sequence[int]) -> None:
        """Warn where the memory of an argument is given up in vain."""
        taken = xla.Compilation(jaxpr, self._name, tuple(donated)).aliases
        # As in JAX, of an argument with as many elements as a result nothing is said.
        spare = Counter(x.size for i, x in enumerate(jaxpr.out_avals) if i not in taken)
        unused: list[str] = []
        for aval in [jaxpr.in_avals[i] for i in donated if taken[i] is None]:
            if not spare[aval.size]:
                unused.append(str(aval))
            spare[aval.size] -= 1
        if unused:
            warn_user(
                f"Some donated buffers were not usable: {', '.join(unused)}. An argument's memory "
                f"is reused for a result of the same size, and {describe_function(self._fun)} "
                "returns no further one. Donate what it updates."
            )

    def retraced(self, digests: Container[bytes]) -> Iterator[jx.Jaxpr]:
        """Trace again, under the settings in force, the signatures of programs with these digests.

        Signatures for which the function now has another program, or none, are left out.

        Example:
            >>> import tinyjax
            >>> double = tinyjax.jit(lambda x: 2 * x)
            >>> digest = double.trace(1.0).jaxpr.jaxpr.digest
            >>> _ = double(1.0)
            >>> [len(jaxpr.eqns) for jaxpr in double.retraced({digest})]
            [1]
        """
        for signature, entry in self._find().entries.copy().items():
            digest = entry.params.jaxpr.digest
            if digest in digests:
                with suppress(Exception):  # the function's own: what it closes over has changed
                    jaxpr = self._stage(signature)[0].params.jaxpr
                    if jaxpr.digest == digest:
                        yield jaxpr

    def _entry_of(
        self, staged: Staged, out_tree: tree.PyTreeDef, donated: tuple[int, ...], before: int
    ) -> tuple[Entry, bool]:
        """Return the entry of a program, and whether later calls may use it.

        Args:
            staged: the program.
            out_tree: the structure of its result.
            donated: the parameters whose memory may be reused.
            before: the number of placeholders before it was staged.
        """
        tier, flags = self._parameters.tier, self._parameters.flags
        params = JitParams(staged.jaxpr, self._name, donated, tier, flags)
        # A closed-over tracer is good for this call only: the next call must trace again.
        # So is a program in which something stands in for a loop.
        closed_over = any(isinstance(c, tr.Tracer) for c in staged.consts)
        return Entry(params, staged, out_tree), placeholders.get() == before and not closed_over
