"""What the checks raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tinyjax.errors import MissingRuleError, TinyjaxError


class CheckError(TinyjaxError, AssertionError):
    """Something does not do what it is held to.

    Attributes:
        subject: the name of the primitive, function, transformation or library.
        rule: what is wrong: ``"batch"``, ``"jvp"``, ``"impl and lowering"``.
        on: the operands, by their types, and how they were given.
        detail: what was expected and what came.
    """

    def __init__(self, subject: str, rule: str, on: str, detail: str) -> None:
        super().__init__(f"{subject}: {rule} is wrong on {on}: {detail}")
        self.subject = subject
        self.rule = rule
        self.on = on
        self.detail = detail


@contextmanager
def blaming(subject: str, rule: str, on: str) -> Iterator[None]:
    """Say of whatever goes wrong inside which rule it is, and on which operands.

    Args:
        subject: what is checked.
        rule: what is wrong if anything is.
        on: the operands.

    Raises:
        CheckError: anything was raised inside, except for a missing rule and other such errors.
    """
    try:
        yield
    except (CheckError, MissingRuleError):
        raise
    except AssertionError as error:
        detail = error.message if isinstance(error, TinyjaxError) else str(error)
        raise CheckError(subject, rule, on, detail.strip()) from error
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        raise CheckError(subject, rule, on, detail) from error
