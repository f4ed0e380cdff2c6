"""Context managers as statements: a call that would do nothing is an error."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

import tinyjax
import tinyjax.core
import tinyjax.debug
import tinyjax.profiler
from raising import raises
from tinyjax import config
from tinyjax.errors import ArgumentError
from website import reference

F = TypeVar("F")
UNTYPED: Any = tinyjax
#: The arguments of those that need some.
ARGUMENTS: Final[dict[str, str]] = {
    "default_device": "None",
    "default_dtypes": "'float64'",
    "default_matmul_precision": "None",
    "default_prng_impl": "'rbg'",
    "named_scope": "'name'",
    "numpy_dtype_promotion": "'strict'",
    "numpy_rank_promotion": "'raise'",
    "scoped": "debug_nans=True",
    "trace": "'folder'",
    "transfer_guard": "'allow'",
    "transfer_guard_device_to_device": "'allow'",
    "transfer_guard_device_to_host": "'allow'",
    "transfer_guard_host_to_device": "'allow'",
    "use_abstract_mesh": "None",
}
#: They give interpreters of programs a trace.
FOR_INTERPRETERS: Final = {"eval_context", "use_trace", "set_current_trace", "take_current_trace"}


def context_managers() -> dict[str, Any]:
    """Return the public functions that make context managers."""
    functions = {}
    for entries in reference.entries().values():
        for entry in entries:
            if inspect.isfunction(inspect.unwrap(entry.value)):
                made = str(inspect.unwrap(entry.value).__annotations__.get("return"))
                if "ContextManager" in made or made.startswith(("Iterator[None", "Iterator[Set")):
                    functions[entry.name] = entry.value
    return functions


FUNCTIONS: Final = context_managers()


def run(text: str, function: Any, mode: str = "exec") -> None:
    exec(compile(text, "<prompt>", mode), {"f": function})


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in FOR_INTERPRETERS])
def test_statements(name: str) -> None:
    function, arguments = FUNCTIONS[name], ARGUMENTS.get(name, "")
    before = config.settings()
    for text, mode in (
        (f"f({arguments})", "exec"),
        (f"if f:\n    f({arguments})", "exec"),
        (f"f({arguments})", "single"),  # as at a prompt, or in a notebook
    ):
        with raises(ArgumentError, match=f"^{name} takes effect in a block"):
            run(text, function, mode)
    run(f"block = f({arguments})", function)  # it may be entered later
    run(f"[f({arguments})]", function)
    assert config.settings() is before
    assert len(FUNCTIONS) > 35


def test_advice_is_true() -> None:
    with raises(ArgumentError, match=r"config\.update\('debug_nans', \.\.\.\)"):
        tinyjax.debug_nans(True)
    with raises(ArgumentError, match=r"config\.update\('jax_enable_x64', \.\.\.\)"):
        tinyjax.enable_x64()
    context = tinyjax.make_user_context(1)
    with raises(ArgumentError, match="takes effect in a block"):
        context(2)
    with tinyjax.debug_nans(True), context(2):
        assert config.settings().debug_nans
        assert context.value == 2
    advices = [advice(FUNCTIONS[name]) for name in FUNCTIONS.keys() - FOR_INTERPRETERS]
    named = [part.split("'")[1] for part in advices if part]
    for name in named:
        config.read(name)  # there is such a setting
    assert len(named) > 10


def advice(function: Any) -> str:
    try:
        run(f"f({ARGUMENTS.get(function.__name__, '')})", function)
    except ArgumentError as error:
        return error.message.partition("update(")[2]
    return ""


def test_blocks_and_decorators() -> None:
    block: Callable[[F], F] = UNTYPED.debug_nans(True)

    @block
    def decorated() -> bool:
        return config.settings().debug_nans

    assert decorated() is True
    with tinyjax.default_dtypes("float64"), tinyjax.named_scope("part"):
        assert config.settings().default_dtypes == "float64"


def test_documents_write_blocks() -> None:
    names = "|".join(FUNCTIONS.keys() - FOR_INTERPRETERS - {"trace", "progress"})
    root = Path(__file__).parents[2]
    for file in [root / "README.md", *(root / "docs").rglob("*.md")]:
        text = file.read_text(encoding="utf-8")
        lonely = re.findall(rf"(?<!with )(?<!@)`(?:tinyjax\.|jax\.)?(?:{names})\([^`]*\)`", text)
        assert not lonely, f"{file.name} shows a statement without effect"
