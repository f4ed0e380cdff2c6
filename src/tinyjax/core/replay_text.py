"""The programs of replayed calls: Python functions of NumPy arrays, written from equations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

import attrs
import numpy as np
from numpy import asarray, ndarray

from tinyjax import frames, tree
from tinyjax.core import evaluation_rules as er, jaxpr as jx, nesting, staging as stg, trace as tr
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.concrete import ConcreteArray
from tinyjax.core.dependence import dce
from tinyjax.core.operands import EXACT, as_number, raw_host
from tinyjax.core.primitive import WITH_NUMBERS, Kernel
from tinyjax.dtypes import HostArray

Program = Callable[..., Any]

#: The dtypes whose numbers NumPy computes with by itself, and rounds as it does those of arrays.
_REAL: Final = frozenset(map(np.dtype, "?bhilqBHILQefd"))


class Replay(stg.StagingTrace):
    """Records what evaluation would do: it looks into functions that have rules of their own."""

    __slots__ = ()

    transformation = "evaluation"
    replays = True

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        with tr.use_trace(self):
            return call.fun(*args)


def make_program(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    hosts: Sequence[HostArray],
    result: Any,
) -> Program | None:
    """Make the program of calls like one that was made, if it can be made and repeats that one."""
    leaves = tree.leaves(result)
    if not all(type(x) is ConcreteArray for x in leaves):
        return None
    given, structure = tree.flatten((list(args), list(kwargs.values())))
    trace = Replay(tr.EVAL, fun)
    try:
        with nesting.STAGING_LEVEL, tr.Running(trace):
            # in the order in which ``_add`` takes the data
            arrays = iter(trace.new_inputs([x.aval for x in given if isinstance(x, ConcreteArray)]))
            taken = [next(arrays) if isinstance(x, ConcreteArray) else x for x in given]
            positional, named = tree.unflatten(structure, taken)
            out = fun(*positional, **dict(zip(kwargs, named, strict=True)))
            staged = trace.build(tree.leaves(out))
        written = _write(staged, result)
        if written is None:
            return None
        program, constants = written
        again = tree.leaves(program(*hosts))
    except Exception:  # what needs data cannot be staged
        return None
    if len(again) != len(leaves) or not all(map(same, leaves, again)):
        return None
    shared = any(np.may_share_memory(x.concrete("data"), c) for x in again for c in constants)
    return None if shared else program


def same(x: Array, y: Array) -> bool:
    """Say whether two arrays are the same to the last bit."""
    return x.aval is y.aval and x.concrete("data").tobytes() == y.concrete("data").tobytes()


@attrs.frozen(eq=False, repr=False)
class Body:
    """A program as lines of Python, which compute with NumPy arrays named ``a0``, ``a1``, ...

    Attributes:
        lines: are to run where NumPy's warnings are off.
        results: expressions of the results, as arrays.
        scope: what the names in these stand for.
        constants: the arrays in it.
    """

    lines: list[str]
    results: list[str]
    scope: dict[str, Any]
    constants: list[HostArray]

    def text(self, head: str, tail: Sequence[str]) -> str:
        """Write a function of it.

        Args:
            head: the function's name and parameters, and what is to be done first.
            tail: the lines that follow; they take the results.
        """
        lines = [head]
        if self.lines:
            lines.append("token = set_errors(IGNORE)")
            lines.append("try:")
            lines += [f"    {line}" for line in self.lines]
            lines.append("finally:")
            lines.append("    reset_errors(token)")
        return "\n    ".join([*lines, *tail]) + "\n"


def write_body(staged: stg.Staged) -> Body | None:
    """Write a program as lines of Python, if it can be."""
    jaxpr = _without_returns(staged.jaxpr)
    known: dict[jx.Atom, Array] = dict(zip(jaxpr.in_binders, staged.consts, strict=False))
    inputs = jaxpr.in_binders[len(staged.consts) :]
    largest = max(
        (x.aval.nbytes for e in jaxpr.eqns for x in (*e.inputs, *e.out_binders)), default=0
    )
    if staged.uses is not stg.NOTHING_USED or jx.effects(jaxpr).any or largest > er.LARGEST:
        return None
    writer = _Writer(known, {x: f"a{i}" for i, x in enumerate(inputs)})
    for eqn in dce(jaxpr).eqns:
        writer.write(eqn)
    results: list[str] = []
    for i, x in enumerate(jaxpr.outs):
        constant = writer.value(x)
        if x in inputs or (constant is not None and not _can_be_copied(constant)):
            return None
        writer.scope[f"t{i}"] = x.aval
        copied = "" if constant is None else ".copy()"
        results.append(f"ConcreteArray({writer.read(writer.first(x))}{copied}, t{i})")
    lines, results = _inlined(writer.lines, results)
    return Body(lines, results, writer.scope, writer.constants)


def _without_returns(jaxpr: jx.Jaxpr) -> jx.Jaxpr:
    """Take a value as it was where an equation undoes the one that made its operand."""
    made: dict[jx.Atom, jx.JaxprEqn] = {}
    before: dict[jx.Atom, jx.Atom] = {}
    for eqn in jaxpr.eqns:
        made.update(dict.fromkeys(eqn.out_binders, eqn))
        undoes = eqn.primitive.rules.extensions.get(er.UNDOES)
        if undoes is None:
            continue
        other = made.get(eqn.inputs[0])
        if other is not None and other.primitive.name == undoes():
            (x,), (out,) = other.inputs, eqn.out_binders
            if x.aval == out.aval:
                before[out] = before.get(x, x)
    if not before:
        return jaxpr
    eqns = [
        attrs.evolve(eqn, inputs=tuple([before.get(x, x) for x in eqn.inputs]))
        for eqn in jaxpr.eqns
    ]
    return attrs.evolve(jaxpr, eqns=tuple(eqns), outs=tuple([before.get(x, x) for x in jaxpr.outs]))


def _write(staged: stg.Staged, result: Any) -> tuple[Program, list[HostArray]] | None:
    """Write a program as a Python function of NumPy arrays, and give the constants in it.

    Args:
        staged: the program.
        result: what the function returned, in whose containers the results are put.
    """
    body = write_body(staged)
    if body is None:
        return None
    results, scope = body.results, body.scope
    shown = ", ".join(results)
    match result:
        case ConcreteArray():
            pass
        case tuple() | list() if type(result) in (tuple, list) and len(result) == len(results):
            shown = f"({shown},)" if isinstance(result, tuple) else f"[{shown}]"
        case tuple() if hasattr(result, "_fields") and len(result) == len(results):
            scope["kind"] = type(result)
            shown = f"kind({shown})"
        case _:
            scope |= {"unflatten": tree.unflatten, "structure": tree.structure(result)}
            shown = f"unflatten(structure, [{shown}])"
    taken = len(staged.jaxpr.in_binders) - len(staged.consts)
    head = f"def program({', '.join(f'a{i}' for i in range(taken))}):"
    frames.run_text("core", "replayed", body.text(head, [f"return {shown}"]), scope)
    return scope["program"], body.constants


#: A name that the writer gives, or a word.
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_ASSIGNED: Final = re.compile(r"(\w+) = (.*)")
_MOST_NESTED: Final = 20


def _inlined(lines: Sequence[str], results: Sequence[str]) -> tuple[list[str], list[str]]:
    """Write what is read once where it is read.

    Memory of intermediate results is then free for the next ones, of which NumPy keeps few for
    reuse.

    Args:
        lines: of a program.
        results: the expressions of what it returns, which are left as they are.
    """
    counts = Counter(name for line in (*lines, *results) for name in _NAME.findall(line))
    kept = {name for text in results for name in _NAME.findall(text)}
    expressions: dict[str, tuple[str, int]] = {}
    out: list[str] = []
    for line in lines:
        depth = 0

        def read(match: re.Match[str]) -> str:
            nonlocal depth
            text, nested = expressions.pop(match[0], (match[0], 0))
            depth = max(depth, nested)
            return text

        assigned = _ASSIGNED.fullmatch(line)
        target, text = assigned.groups() if assigned else ("", line)
        text = _NAME.sub(read, text)
        if target and counts[target] == 2 and target not in kept and depth < _MOST_NESTED:
            atomic = text.endswith(")") and re.match(r"\w+\(", text) and text.count("(") == 1
            expressions[target] = text if atomic else f"({text})", depth + 1
        else:
            out.append(f"{target} = {text}" if target else text)
    return out, [*results]


class _Writer:
    """Writes equations as lines of Python.

    What only repeats elements is written where it is read. Most readers, those in ``EXACT``, take
    the elements as they are, in a shape from which NumPy broadcasts. A value of one element is kept
    as what computed it gave, an array or a number of NumPy's, until a reader wants the other.

    Attributes:
        lines: what is written.
        scope: what the names in it stand for.
        constants: the arrays among these.
    """

    def __init__(self, known: dict[jx.Atom, Array], names: dict[jx.Atom, str]) -> None:
        self.lines: list[str] = []
        self.constants: list[HostArray] = []
        self.scope: dict[str, Any] = {
            "set_errors": tr.set_errors,
            "reset_errors": tr.reset_errors,
            "IGNORE": tr.IGNORE,
            "asarray": asarray,
            "ndarray": ndarray,
            "ConcreteArray": ConcreteArray,
        }
        self._known = known
        #: The names of values as arrays, as numbers, and of what is one or the other.
        self._names = names
        self._numbers: dict[jx.Atom, str] = {}
        #: The names of arrays of these.
        self._arrays: set[str] = set()
        self._either: dict[jx.Atom, str] = {}
        self._elements: dict[jx.Atom, tuple[jx.Atom, tuple[int, ...]]] = {}
        self._waiting: dict[jx.Atom, jx.JaxprEqn] = {}
        self._repeated: dict[jx.Atom, tuple[jx.Atom, tuple[int, ...]]] = {}
        self._views: dict[tuple[str, tuple[int, ...]], str] = {}
        self._written: dict[tuple[object, ...], Sequence[jx.Atom]] = {}
        self._firsts: dict[jx.Atom, jx.Atom] = {}
        self._results = count()

    def value(self, x: jx.Atom) -> Array | None:
        """Return the data of what depends on no argument."""
        return x.value if isinstance(x, jx.Lit) else self._known.get(x)

    def first(self, x: jx.Atom) -> jx.Atom:
        """Return the first variable of those that an equal equation binds."""
        return self._firsts.get(x, x)

    def read(self, x: jx.Atom) -> str:
        """Name a value, in its own shape."""
        constant = self.value(x)
        if constant is not None:
            return self._constant(constant.concrete("data"))
        if x not in self._names:
            if x in self._numbers:
                self._names[x] = self._array(x, x.aval.shape)
            elif x in self._either:
                name = self._names[x] = self._either.pop(x)
                self.lines.append(f"if type({name}) is not ndarray: {name} = asarray({name})")
            elif x in self._elements:
                self._call(self._waiting[x])
            else:
                root, shape = self._repeated[x]
                if shape == x.aval.shape:
                    self._names[x] = self._view(root, shape)
                else:
                    self._call(self._waiting[x])
        return self._names[x]

    def _array(self, x: jx.Atom, shape: tuple[int, ...]) -> str:
        """Name an array of a number."""
        number = self._numbers[x]
        name = f"{number}a"
        if name not in self._arrays:
            self._arrays.add(name)
            self.lines.append(f"{name} = asarray({number})")
        if not shape:
            return name
        self.lines.append(f"{name}{len(shape)} = {name}.reshape({shape})")
        return f"{name}{len(shape)}"

    def _number(self, x: jx.Atom) -> str:
        """Name the one element of a value."""
        constant = self.value(x)
        if constant is not None:
            return self._add("c", constant.concrete("data").reshape(-1)[0])
        if x not in self._numbers:
            if x in self._repeated and x not in self._names:
                self._numbers[x] = self._number(self._repeated[x][0])
                return self._numbers[x]
            if x in self._elements and x not in self._names:
                of, place = self._elements[x]
                name = self.read(of)
                number = f"{name}[{', '.join(map(str, place))}]"
                name = self._add("e", None)
            elif x in self._either:  # to take an element of a number would cost more
                name = self._either[x]
                number = f"{name}[()] if type({name}) is ndarray else {name}"
            else:
                name = self.read(x)
                number = f"{name}[{', '.join('0' * x.aval.ndim) or '()'}]"
            self._numbers[x] = f"{name}n"
            self.lines.append(f"{name}n = {number}")
        return self._numbers[x]

    def write(self, eqn: jx.JaxprEqn) -> None:
        """Write an equation, or compute it where it depends on no argument."""
        eqn = attrs.evolve(eqn, inputs=tuple(map(self.first, eqn.inputs)))
        operands = [self.value(x) for x in eqn.inputs]
        consts = [x for x in operands if x is not None]
        if len(consts) == len(operands):
            outs = tr.EVAL.process(eqn.primitive, consts, eqn.params)
            self._known.update(zip(eqn.out_binders, outs, strict=True))
            return
        repeats = eqn.primitive.rules.extensions.get(er.REPEATS)
        if repeats is not None:
            (x,), (out,) = eqn.inputs, eqn.out_binders
            root, shape = self._repeated.get(x, (x, x.aval.shape))
            self._repeated[out] = root if shape == x.aval.shape else x, repeats(eqn.params)
            self._waiting[out] = eqn
            return
        key = (eqn.primitive, eqn.params, *map(self._same, eqn.inputs))
        before = self._written.setdefault(key, eqn.out_binders)
        if before is not eqn.out_binders:
            self._firsts.update(zip(eqn.out_binders, before, strict=True))
        elif self._is_element(eqn):
            self._waiting[eqn.out_binders[0]] = eqn
        elif not self._call_with_numbers(eqn):
            self._call(eqn)

    def _is_element(self, eqn: jx.JaxprEqn) -> bool:
        """Note where a number comes from, if it is an element of another value."""
        element, out = eqn.primitive.rules.extensions.get(er.ELEMENT), eqn.out_binders[0]
        if element is None or out.aval.size != 1 or out.aval.dtype not in _REAL:
            return False
        self._elements[out] = eqn.inputs[0], element(eqn.params)
        return True

    def _same(self, x: jx.Atom) -> object:
        """What two names of one value have in common."""
        constant = self.value(x)
        if constant is not None:
            return x.aval, as_number(constant.concrete("data")).tobytes()
        if x in self._repeated:
            root, shape = self._repeated[x]
            return self._same(root), shape, x.aval.shape
        return x

    def _constant(self, data: HostArray) -> str:
        self.constants.append(data)
        return self._add("c", data)

    def _add(self, letter: str, value: object) -> str:
        """Give a value a name that begins with a letter."""
        name = f"{letter}{len(self.scope)}"
        self.scope[name] = value
        return name

    def _view(self, root: jx.Atom, shape: tuple[int, ...]) -> str:
        """Name the elements of a value in another shape."""
        if shape == root.aval.shape:
            return self.read(root)
        if root in self._numbers:
            return self._array(root, shape)
        name = self.read(root)
        if (name, shape) not in self._views:
            self._views[name, shape] = f"r{len(self._views)}"
            self.lines.append(f"{self._views[name, shape]} = {name}.reshape({shape})")
        return self._views[name, shape]

    def _few(self, x: jx.Atom) -> tuple[tuple[int, ...], Callable[[], str]]:
        """Find the fewest elements that NumPy broadcasts to a value: their shape, and a name."""
        constant = self.value(x)
        if constant is not None:
            number = as_number(constant.concrete("data"))
            return number.shape, lambda: self._constant(number)
        root, shape = self._repeated.get(x, (x, x.aval.shape))
        if root.aval.size == 1:  # a view costs less than what NumPy takes to broadcast
            shape = ()
        return shape, lambda: self._view(root, shape)

    def _operands(self, eqn: jx.JaxprEqn, kernel: Kernel | None) -> list[str]:
        """Name the operands of an equation: in fewer elements, where NumPy broadcasts them."""
        if kernel in EXACT:
            few = [self._few(x) for x in eqn.inputs]
            shapes = [shape for shape, _ in few]
            if np.broadcast_shapes(*shapes) == eqn.out_binders[0].aval.shape:
                return [name() for _, name in few]
        return [self.read(x) for x in eqn.inputs]

    def _call_with_numbers(self, eqn: jx.JaxprEqn) -> bool:
        """Write an equation of numbers, if it is one that Python computes with them."""
        values = (*eqn.inputs, *eqn.out_binders)
        if not all(x.aval.size == 1 and x.aval.dtype in _REAL for x in values):
            return False
        avals = [ShapedArray((), x.aval.dtype, x.aval.weak_type) for x in values]
        operands, write = avals[: len(eqn.inputs)], eqn.primitive.rules.extensions.get(WITH_NUMBERS)
        text = None if write is None else write(operands, eqn.params)
        if text is None:
            kernel = eqn.primitive.kernel(operands, eqn.params)
            if not isinstance(kernel, np.ufunc):
                return False
            text = f"{self._add('f', kernel)}({', '.join('{}' for _ in operands)})"
        (out,) = eqn.out_binders
        name = self._numbers[out] = f"n{len(self._numbers)}"
        self.lines.append(f"{name} = {text.format(*map(self._number, eqn.inputs))}")
        return True

    def _call(self, eqn: jx.JaxprEqn) -> None:
        rules = eqn.primitive.rules
        kernel = eqn.primitive.kernel([x.aval for x in eqn.inputs], eqn.params)
        outs = [f"v{next(self._results)}" for _ in eqn.out_binders]
        left = ", ".join(outs)
        parts = rules.extensions.get(er.PARTS)
        if parts is not None:
            name = self.read(eqn.inputs[0])
            for out, part in zip(outs, parts(eqn.params), strict=True):
                self.lines.append(f"{out} = {name}[{er.index_text(part)}]")
        elif rules.evaluate is not None:
            fixed = [self.value(x) for x in eqn.inputs]
            operands = ", ".join(self.read(x) for x in eqn.inputs if self.value(x) is None)
            self.lines.append(f"{left}, = {self._add('f', _evaluation(eqn, fixed))}({operands})")
        elif kernel is not None:
            operands = ", ".join(self._operands(eqn, kernel))
            self.lines.append(f"{left} = {self._add('f', kernel)}({operands})")
        else:
            operands = ", ".join(self.read(x) for x in eqn.inputs)
            impl, params = self._add("f", rules.impl), self._add("p", eqn.params)
            self.lines.append(f"{left}, = {impl}(({operands},), {params})")
        for x, name in zip(eqn.out_binders, outs, strict=True):
            # NumPy gives numbers in place of arrays without axes
            (self._names if x.aval.shape else self._either)[x] = name


def _evaluation(eqn: jx.JaxprEqn, fixed: Sequence[Array | None]) -> Callable[..., list[HostArray]]:
    """An equation of a primitive that is a program, as a function of NumPy arrays.

    Args:
        eqn: the equation.
        fixed: its operands that depend on no argument, whose device buffers are kept; and None for
            each that is given.
    """
    avals = [x.aval for x, found in zip(eqn.inputs, fixed, strict=True) if found is None]

    def evaluate(*hosts: HostArray) -> list[HostArray]:
        arrays = map(ConcreteArray, hosts, avals)
        args = [next(arrays) if found is None else found for found in fixed]
        outs = tr.EVAL.process(eqn.primitive, args, eqn.params)
        return [raw_host(x) for x in outs if isinstance(x, ConcreteArray)]

    return evaluate


def _can_be_copied(x: Array) -> bool:
    """Say whether a constant is given out as a copy: of one value everywhere, a copy says less."""
    return isinstance(x, ConcreteArray) and all(raw_host(x).strides) and not hasattr(x, "_number")
