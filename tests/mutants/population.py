"""All mutants of the package, and samples of them that are spread over mistakes and folders."""

import ast
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from mutants.operators import OPERATORS, replacements

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src" / "tinyjax"

#: Rules, transformations and caches.
FOLDERS: Final[dict[str, tuple[str, ...]]] = {
    "primitives": ("core/primitives/*.py", "_primitives/*.py"),
    "core": ("core/*.py", "core/values/*.py", "core/tracing/*.py"),
    "host": ("_extensions/host/*.py",),
    "transforms": ("core/transforms/*.py",),
    "autodiff": ("autodiff/*.py",),
    "control_flow": ("core/control_flow/*.py", "lax/scans.py", "_extensions/progress/*.py"),
    "custom_derivatives": ("custom_derivatives/*.py",),
    "checkpointing": ("_extensions/checkpointing/*.py",),
    "jit": ("core/jit/*.py", "_extensions/explaining.py"),
    "parallel": ("_extensions/parallel/*.py",),
    "state": ("_extensions/state/*.py",),
    "caches": (
        "cache.py",
        "core/xla/compilation.py",
        "_extensions/parallel/placement.py",
        "core/xla/disk_cache.py",
        "_extensions/host/xla/call_writer.py",
    ),
}

#: Functions that only write text.
_TEXTS: Final = frozenset({"__repr__", "__str__", "describe", "_repr_html_"})


@cache
def module_files() -> dict[str, str]:
    """Return the files of all folders, from the package's folder on, and the folder of each."""
    return {
        str(path.relative_to(PACKAGE)): folder
        for folder, patterns in FOLDERS.items()
        for pattern in patterns
        for path in sorted(PACKAGE.glob(pattern))
    }


@attrs.frozen(eq=False)
class Block:
    """Statements of which all are run if the first is, or the body of a lambda function.

    Attributes:
        number: its place in the module; block 0 is run by the import.
        function: the names of the classes and functions around it.
        top: the number of the module's statement that it belongs to.
        body: the list that has the statements; or a lambda function.
        start: the place of the first statement in the list.
    """

    number: int
    function: str
    top: int
    body: list[ast.stmt] | ast.Lambda
    start: int


@attrs.define(eq=False)
class Anatomy:
    """A module's blocks, and the block of each node that may be changed."""

    blocks: list[Block] = attrs.field(factory=list)
    nodes: list[tuple[ast.AST, Block]] = attrs.field(factory=list)

    def begin(
        self, body: list[ast.stmt] | ast.Lambda, start: int, function: str, top: int
    ) -> Block:
        block = Block(len(self.blocks), function, top, body, start)
        self.blocks.append(block)
        return block

    def follow(self, body: list[ast.stmt], start: int, block: Block) -> None:
        """Assign statements to blocks, the first ones to a block that has begun."""
        for i, stmt in enumerate(body[start:], start + 1):
            self.enter(stmt, block)
            jumps = any(isinstance(x, _JUMPS) for x in ast.walk(stmt))
            if jumps and not isinstance(stmt, (*_JUMPS, *_SCOPES)) and i < len(body):
                block = self.begin(body, i, block.function, block.top)

    def enter(self, node: ast.AST, block: Block) -> None:
        """Assign a node, and what is in it, to a block and to those that begin in it."""
        if _is_left_alone(node):
            return
        self.nodes.append((node, block))
        match node:
            case ast.Raise():
                return
            case ast.Lambda(body=result):
                self.enter(result, self.begin(node, 0, block.function, block.top))
                return
            case ast.ClassDef(name=name, body=body):
                within = attrs.evolve(block, function=f"{block.function}{name}.")
                for stmt in body:
                    self.enter(stmt, within)
                return
            case ast.FunctionDef(name=name, args=args, body=body):
                for default in (*args.defaults, *filter(None, args.kw_defaults)):
                    self.enter(default, block)
                start = int(ast.get_docstring(node, clean=False) is not None)
                if start < len(body):
                    inner = self.begin(body, start, f"{block.function}{name}.", block.top)
                    self.follow(body, start, inner)
                return
            case _:
                pass
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "type_comment"):
                continue
            if isinstance(value, ast.AST):
                self.enter(value, block)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                if isinstance(node, ast.With):
                    self.follow(value, 0, block)
                else:
                    self.follow(value, 0, self.begin(value, 0, block.function, block.top))
            elif isinstance(value, list):
                for child in value:
                    self.enter(child, block)


_JUMPS: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_SCOPES: Final = (ast.FunctionDef, ast.ClassDef)


def _is_left_alone(node: ast.AST) -> bool:
    """Return whether a node has no meaning at run time, or only for readers of messages."""
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.FunctionDef(name=name) if name in _TEXTS:
            return True
        case ast.FunctionDef(decorator_list=[ast.Name(id="overload"), *_]):
            return True
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec" | "TypeVarTuple"))):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case _:
            pass
    return not isinstance(node, ast.AST)


def parse(file: str) -> ast.Module:
    """The syntax tree of a module, given its path in the package."""
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"), str(PACKAGE / file))


def anatomy(tree: ast.Module) -> Anatomy:
    """Find the blocks of a module."""
    found = Anatomy()
    whole = found.begin(tree.body, 0, "", -1)
    for top, stmt in enumerate(tree.body):
        found.enter(stmt, attrs.evolve(whole, top=top))
    return found


@cache
def dissected(file: str) -> Anatomy:
    """The anatomy of a module as it is; its tree must not be changed."""
    return anatomy(parse(file))


@attrs.frozen
class Mutant:
    """A module with one mistake.

    Attributes:
        file: the module, from the package's folder on.
        operator: the name of the mistake.
        node: the number of the node that is changed.
        variant: which of the operator's replacements.
        block: the block that the node belongs to.
        line: the node's.
    """

    file: str
    operator: str
    node: int
    variant: int
    block: Block = attrs.field(eq=False, repr=False)
    line: int = attrs.field(eq=False)

    @property
    def folder(self) -> str:
        return module_files()[self.file]

    def tree(self) -> ast.Module:
        """The syntax tree of the changed module."""
        tree = parse(self.file)
        node = anatomy(tree).nodes[self.node][0]
        change = _Replace(node, replacements(node, self.operator)[self.variant])
        changed = change.visit(tree)
        assert isinstance(changed, ast.Module)
        return changed

    @property
    def blocks_within(self) -> list[Block]:
        """The blocks of the statement that is changed, which may be run or not: its branches."""
        nodes = dissected(self.file).nodes
        parts = _parts(nodes[self.node][0])
        for stmt, block in reversed(nodes[: self.node + 1]):
            if isinstance(stmt, ast.stmt) and block.number == self.block.number:
                inside = _parts(stmt)
                if parts <= inside:
                    found = {b.number: b for node, b in nodes[self.node :] if id(node) in inside}
                    found.pop(block.number, None)
                    return [*found.values()]
        return []

    @property
    def name(self) -> str:
        """The change and its place, in one line, without line numbers."""
        node = dissected(self.file).nodes[self.node][0]
        after = replacements(node, self.operator)[self.variant]
        before, made = _words(node), _words(after)
        return f"{self.file} {self.block.function.rstrip('.') or 'module'}: {before} → {made}"


def _parts(node: ast.AST) -> set[int]:
    """Return the parts of a node, by identity, without those that are shared, as operators are."""
    return {id(part) for part in ast.walk(node) if hasattr(part, "lineno")}


def _words(node: ast.AST) -> str:
    """The beginning of a node's text, which shows what is changed."""
    match node:
        case ast.FunctionDef(name=name, body=[*_, last]):
            return f"def {name}: … {ast.unparse(last)}"
        case ast.If(test=test):
            return f"if {ast.unparse(test)}"
        case ast.For(target=target, iter=xs):
            return f"for {ast.unparse(target)} in {ast.unparse(xs)}"
        case ast.With(items=items):
            return f"with {', '.join(map(ast.unparse, items))}"
        case _:
            pass
    return " ".join(ast.unparse(node).split())


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, replacement: ast.AST) -> None:
        self.node = node
        self.replacement = replacement

    def visit(self, node: ast.AST) -> ast.AST:
        if node is not self.node:
            return self.generic_visit(node)
        return self.replacement


@cache
def mutants_of(file: str) -> tuple[Mutant, ...]:
    """Every mutant of a module."""
    return tuple(
        [
            Mutant(file, operator, i, variant, block, getattr(node, "lineno", 0))
            for i, (node, block) in enumerate(dissected(file).nodes)
            for operator, made in OPERATORS.items()
            for variant, _ in enumerate(made(node))
        ]
    )


def sample(count: int, seed: int, folders: Sequence[str] = tuple(FOLDERS)) -> list[Mutant]:
    """Draw mutants: of all mistakes alike, and of all folders as far as they have them."""
    rng = random.Random(seed)
    waiting: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for file, folder in module_files().items():
        for mutant in mutants_of(file) if folder in folders else ():
            waiting[mutant.operator][folder].append(mutant)
    for by_folder in waiting.values():
        for mutants in by_folder.values():
            rng.shuffle(mutants)
    drawn: list[Mutant] = []
    taken = Counter[str]()
    while len(drawn) < count and any(waiting.values()):
        for by_folder in waiting.values():
            if by_folder and len(drawn) < count:
                folder = min(by_folder, key=lambda name: taken[name])
                taken[folder] += 1
                drawn.append(by_folder[folder].pop())
                if not by_folder[folder]:
                    del by_folder[folder]
    return drawn
