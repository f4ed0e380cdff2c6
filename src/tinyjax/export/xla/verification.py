"""Verification of programs that come from elsewhere, before they are used.

MLIR's parser for text returns an error or a module for any text, and verifies the module's
operations and types. Only brackets nested so deep that it runs out of stack are an exception.
Beyond that, a program must be a function from its declared argument types to its declared result
types, without operations that reach outside of it. Calls of LAPACK get memory from XLA for the
shapes in the program, and write as much as LAPACK does, so these shapes must be LAPACK's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from jaxlib.mlir import ir

from tinyjax.errors import ExportError

#: So deep may brackets be nested. (Loops and conditions add two each; MLIR can do ten times that.)
DEEPEST: Final = 500

_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|->|[\[({<]|[\])}>]|-{3,}')
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_INTEGER: Final = re.compile(r"(?:\b|(?<=\dx))[su]?i(\d+)\b")
#: The bits of the integers that there are.
_WIDTHS: Final = frozenset(("1", "2", "4", "8", "16", "32", "64"))
_COMMENT: Final = re.compile(r"//[^\n]*")
#: Elements that are written as pairs, and whether their type is one of complex numbers.
_PAIRS: Final = re.compile(r"\bdense\s*<[^<>(]*\([^<>]*>\s*:\s*(tensor\s*<[^<>]*complex\s*<)?")
_RESULTS: Final = re.compile(r"%([\w$.-]+):(\d+)")
_RESULT: Final = re.compile(r"%([\w$.-]+)#(\d+)")
_TENSOR: Final = re.compile(r"tensor<((?:\d+x)*)[^<>?]*(?:<[^<>?]*>)?>")
_OPTION: Final = re.compile(r"(\w+) = (\w+)")
_KIND: Final = re.compile(r"I?R?FFT")
_NUMBER: Final = re.compile(r"-?\d+")
_TARGET: Final = re.compile(r"lapack_([sdcz])(\w+)_ffi")

#: What reaches other devices, other programs or the host.
_OUTSIDE: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("all_gather", "all_reduce", "all_to_all", "async_done", "async_start"),
        *("collective_broadcast", "collective_permute", "cross-replica-sum"),
        *("infeed", "outfeed", "partition_id", "recv", "reduce_scatter", "replica_id", "send"),
    )
)
_DIALECTS: Final = ("stablehlo.", "func.", "builtin.")

_CONVOLUTION: Final = re.compile(r"\w+\.(?:dynamic_conv|convolution)(?:_v\d+)?")
#: What the axes of the operands and the result of a convolution are.
_ROLES: Final = (
    ("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
    (
        "kernel_input_feature_dimension",
        "kernel_output_feature_dimension",
        "kernel_spatial_dimensions",
    ),
    ("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
)
#: Sizes in the type of an array, and the numbers in an attribute.
_SIZE: Final = re.compile(r"(?:\d+|\?)x")
_ELEMENTS: Final = re.compile(r"(?:integer_v\d<|dense<)\s*([^:>]*)")

#: The letters that an option of a routine may be.
_LETTERS: Final[Mapping[str, str]] = {
    "compute_left": "NV",
    "compute_right": "NV",
    "diag": "NU",
    "mode": "ANSV",
    "side": "LR",
    "sort": "N",
    "trans_x": "CNT",
    "uplo": "LU",
}
#: The shapes that a routine takes and returns, as in ``einsum``: of one matrix, vector or number
#: of each stack. ``k`` is the smaller of ``m`` and ``n``, and ``p`` is ``n - 1``. Where an option
#: decides, its value is the key.
_SHAPES: Final[Mapping[str, Mapping[str, str]]] = {
    "gees": {"sd": "nn->nn,nn,n,n,,", "cz": "nn->nn,nn,n,,"},
    "geev": {"sd": "nn->n,n,nn,nn,", "cz": "nn->n,nn,nn,"},
    "gehrd": {"": "nn->nn,p,"},
    "geqp3": {"": "mn,n->mn,n,k"},
    "geqrf": {"": "mn->mn,k"},
    "gesdd": {"AN": "mn->mn,k,mm,nn,", "NS": "mn->mn,k,mk,kn,"},
    "getrf": {"": "mn->mn,k,"},
    "gtsv": {"": "n,n,n,nj->n,n,n,nj,"},
    "heevd": {"": "nn->nn,n,"},
    "hetrd": {"": "nn->nn,n,p,p,"},
    "orgqr": {"": "mj,r->mj"},
    "ormqr": {"true": "mr,r,mj->mj", "false": "mr,r,jm->jm"},
    "potrf": {"": "nn->nn,"},
    "syevd": {"": "nn->nn,n,"},
    "sytrd": {"": "nn->nn,n,p,p,"},
    "trsm": {"L": "nn,nj->nj", "R": "nn,jn->jn"},
    "ungqr": {"": "mj,r->mj"},
    "unmqr": {"true": "mr,r,mj->mj", "false": "mr,r,jm->jm"},
}
#: What the second key is compared with, where that is an option.
_DECIDES: Final[Mapping[str, str]] = {
    "gesdd": "mode",
    "ormqr": "left",
    "trsm": "side",
    "unmqr": "left",
}


def check_text(text: str) -> None:
    """Raise where a parser might run out of stack or of memory, or take one type for another.

    Raises:
        ExportError: brackets are nested too deep, results are used that there cannot be, or pairs
            are elements of an array that is not complex.
    """
    _check_depth(text)
    code = _STRING.sub('""', text)
    # Others are numbers that no 64 bits hold, which the passes take for such.
    widths = {integer[1] for integer in _INTEGER.finditer(code)}
    if not widths <= _WIDTHS:
        raise _refused(f"it has integers of {', '.join(sorted(widths - _WIDTHS)):.100} bits")
    # The parser takes them for twice as many elements, and who asks for these ends the process.
    if not all(pair[1] for pair in _PAIRS.finditer(_COMMENT.sub("", code))):
        raise _refused("it has pairs of numbers as elements of arrays that are not complex")
    # The parser allocates as many results as the highest that is used.
    results: dict[str, int] = {}
    for result in _RESULTS.finditer(text):
        results[result[1]] = max(results.get(result[1], 1), _number(result[2]))
    if sum(results.values()) > len(text):
        raise _refused("it declares more results than there is text")
    for result in _RESULT.finditer(text):
        if _number(result[2]) >= results.get(result[1], 1):
            raise _refused(f"it uses the result {result[0]:.100}, which there is not")


def _number(digits: str) -> int:
    return int(digits) if len(digits) < 10 else 1 << 62


def _check_depth(text: str) -> None:
    depth = 0
    for token in _TOKENS.finditer(text):
        match token[0][0]:
            case "[" | "(" | "{" | "<":
                depth += 1
            case "]" | ")" | "}" | ">":
                depth = max(depth - 1, 0)
            case "-" if len(token[0]) > 2:
                raise _refused("it has a row of minus signs")
        if depth > DEEPEST:
            raise _refused(f"its brackets are nested more than {DEEPEST} deep")


def check_portable(module: ir.Module) -> None:
    """Raise where the passes from portable form, or what says what they found, end the process.

    Args:
        module: in portable form.

    Raises:
        ExportError: a convolution has axes that its arrays have not.
    """
    _check_each(module, _check_convolution)


def _check_convolution(op: ir.Operation) -> None:
    if _CONVOLUTION.fullmatch(op.name) and not _has_axes(op):
        raise _refused(f"the axes of the convolution {str(op)[:200]} are not there")


def _check_each(module: ir.Module, check: Callable[[ir.Operation], None]) -> None:
    """Check the operations of a module, until one is refused: MLIR passes on no errors."""
    faults: list[ExportError] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        try:
            check(op)
        except ExportError as error:
            faults.append(error)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if faults:
        raise faults[0]


def _has_axes(op: ir.Operation) -> bool:
    """Return whether a convolution in portable form gives each axis of its arrays one role."""
    if len(op.operands) < 2 or len(op.results) != 1:
        return False
    arrays = (op.operands[0].type, op.operands[1].type, op.results[0].type)
    for array, roles in zip(arrays, _ROLES, strict=True):
        rank = len(_SIZE.findall(str(array)))
        axes: list[int] = []
        for role in roles:
            if role not in op.attributes:
                return False
            shape = _ELEMENTS.search(str(op.attributes[role]))
            axes += [] if shape is None else map(int, _NUMBER.findall(shape[1]))
        if sorted(axes) != [*range(rank)]:
            return False
    return True


def check_module(module: ir.Module, in_types: Sequence[str], out_types: Sequence[str]) -> None:
    """Raise unless a module is a program of such types, and nothing else.

    Args:
        module: in StableHLO.
        in_types: the types of its parameters, as MLIR writes them.
        out_types: those of its results.

    Raises:
        ExportError: it is not.
    """
    _check_each(module, _check_operation)
    functions = [op.operation for op in module.body.operations]
    types = [
        str(op.attributes["function_type"])
        for op in functions
        if op.name == "func.func" and str(op.attributes["sym_name"]) == '"main"'
    ]
    results = ", ".join(out_types)
    if len(out_types) != 1:
        results = f"({results})"
    declared = f"({', '.join(in_types)}) -> {results}"
    if types != [declared]:
        raise _refused(f"it is of type {' '.join(types)}, and is said to be of type {declared}")


def _refused(why: str) -> ExportError:
    return ExportError(
        f"the program in what was exported is refused: {why}. Export it anew, and load only what "
        "comes from where you would take a program from."
    )


def _check_operation(op: ir.Operation) -> None:
    name = op.name
    if name in _OUTSIDE or not name.startswith(_DIALECTS):
        raise _refused(f"it holds the operation {name}")
    if name == "stablehlo.custom_call":
        _check_call(op)
    elif name == "stablehlo.fft":
        _check_fft(op)
    elif name == "stablehlo.remainder":
        _check_remainder(op)


def _check_call(op: ir.Operation) -> None:
    target = str(op.attributes["call_target_name"])[1:-1]
    routine = _TARGET.fullmatch(target)
    if routine is None or routine[2] not in _SHAPES:
        raise _refused(f"it calls {target!r}")
    try:
        texts = dict(_OPTION.findall(str(op.attributes["backend_config"])))
    except KeyError:
        texts = {}
    options = {k: _letter(v) if k in _LETTERS else v for k, v in texts.items()}
    if any(v not in {*_LETTERS[k]} for k, v in options.items() if k in _LETTERS):
        raise _refused(f"it calls {target!r} with the options {options}")
    operands = [_shape(op.operands[i]) for i in range(len(op.operands))]
    results = [_shape(op.results[i]) for i in range(len(op.results))]
    cases = _SHAPES[routine[2]]
    decides = options.get(_DECIDES[routine[2]], "-") if routine[2] in _DECIDES else routine[1]
    possible = [text for key, text in cases.items() if not key or decides in key]
    matches = [_match(shapes, operands, results) for shapes in possible]
    sizes = next(filter(None, matches), {})
    low_high = options.get("low", "1"), options.get("high", str(sizes.get("n")))
    if not sizes or low_high != ("1", str(sizes.get("n"))):
        raise _refused(f"it calls {target!r} with the shapes {operands} for {results}")


def _check_fft(op: ir.Operation) -> None:
    """Raise where a transform is of other lengths than its arrays: the routine ends the process."""
    kind = _KIND.search(str(op.attributes["fft_type"]))
    lengths = tuple(map(int, _NUMBER.findall(str(op.attributes["fft_length"]).partition(":")[2])))
    operand, result = _shape(op.operands[0]), _shape(op.results[0])
    batch = operand[: max(len(operand) - len(lengths), 0)]
    half = (*lengths[:-1], lengths[-1] // 2 + 1) if lengths else ()
    before = half if kind and kind[0] == "IRFFT" else lengths
    after = half if kind and kind[0] == "RFFT" else lengths
    if (operand, result) != ((*batch, *before), (*batch, *after)):
        raise _refused(f"it transforms the shape {operand} to {result} by the lengths {lengths}")


def _check_remainder(op: ir.Operation) -> None:
    """Raise where XLA may find integers divided by zero while it folds constants: it dies then."""
    divisor = op.operands[1]
    if _INTEGER.search(str(divisor.type)) and not (_is_nonzero(divisor) or _is_guarded(divisor)):
        raise _refused(f"it holds a remainder whose divisor may be zero, {str(op)[:200]}")


def _made_by(x: ir.Value[ir.Type], name: str) -> ir.Operation | None:
    """Return the operation that a value is the result of, if it is of this name."""
    owner = x.owner
    if isinstance(owner, ir.Block):
        return None
    operation = owner.operation
    return operation if operation.name == name else None


def _elements(x: ir.Value[ir.Type]) -> str:
    """Return the texts of a constant's elements; none for other values."""
    constant = _made_by(x, "stablehlo.constant")
    elements = None if constant is None else _ELEMENTS.search(str(constant.attributes["value"]))
    return "" if elements is None else elements[1]


def _is_nonzero(x: ir.Value[ir.Type]) -> bool:
    """Return whether a value is a constant without zeros, whose elements are all listed."""
    text = _elements(x)
    return '"' not in text and bool(text) and all(map(int, _NUMBER.findall(text)))


def _is_guarded(x: ir.Value[ir.Type]) -> bool:
    """Return whether a value is another one, and where that is zero a number that is not."""
    select = _made_by(x, "stablehlo.select")
    if select is None or not _is_nonzero(select.operands[1]):
        return False
    is_zero = _made_by(select.operands[0], "stablehlo.compare")
    return (
        is_zero is not None
        and "EQ" in str(is_zero.attributes["comparison_direction"])
        and is_zero.operands[0] == select.operands[2]
        and _elements(is_zero.operands[1]).rstrip(">") == "0"
    )


def _letter(code: str) -> str:
    return chr(int(code)) if code.isascii() and code.isdigit() and len(code) < 4 else ""


def _shape(x: ir.Value[ir.Type]) -> tuple[int, ...]:
    tensor = _TENSOR.fullmatch(str(x.type))
    if tensor is None:
        raise _refused(f"it holds a value of type {x.type}")
    return tuple([int(n) for n in tensor[1].split("x") if n])


def _match(
    shapes: str, operands: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]]
) -> dict[str, int]:
    """Return the sizes that letters stand for; none where the shapes are others.

    Args:
        shapes: those of one matrix, vector or number of each stack.
        operands: the shapes of the stacks.
        results: likewise.
    """
    left, _, right = shapes.partition("->")
    letters, sides = [*left.split(","), *right.split(",")], [*operands, *results]
    if len(letters) != len(sides) or len(left.split(",")) != len(operands):
        return {}
    batch = operands[0][: len(operands[0]) - len(letters[0])]
    sizes = dict(zip(letters[0], operands[0][len(batch) :], strict=False))
    n = sizes.get("n", 0)
    sizes |= {"k": min(sizes.get("m", 0), n), "p": max(n - 1, 0)}
    for names, shape in zip(letters, sides, strict=True):
        if len(shape) != len(batch) + len(names) or shape[: len(batch)] != batch:
            return {}
        for name, size in zip(names, shape[len(batch) :], strict=True):
            if sizes.setdefault(name, size) != size:
                return {}
    m, j, r = (sizes.get(name) for name in "mjr")
    if r is not None and m is not None and r > m:
        return {}
    if shapes == "mj,r->mj" and (j is None or r is None or m is None or not r <= j <= m):
        return {}
    return sizes
