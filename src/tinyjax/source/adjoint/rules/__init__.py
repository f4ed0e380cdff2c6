"""Derivatives of calls.

A rule is a Python function of its own: from the cotangent and the result of a call and its
arguments to the cotangents of the arguments. It is in the language that is differentiated, so that
derivatives of any order need no further rules. Most are formulas (``formulas``); others are
functions: of containers (``containers``) and of some functions of NumPy (``arrays``). What an
operator stands for (``operators``) may be a method.
"""

from tinyjax.source.adjoint.rules import arrays, containers, formulas, plain
from tinyjax.source.adjoint.rules.arrays import METHODS
from tinyjax.source.adjoint.rules.containers import is_method
from tinyjax.source.adjoint.rules.formulas import SHARED, vars_of
from tinyjax.source.adjoint.rules.registry import (
    Rule,
    adjoint_of,
    fits,
    inert,
    is_inert,
    places,
    rule_adjoint,
    rule_of,
)

__all__ = [
    "METHODS",
    "SHARED",
    "Rule",
    "adjoint_of",
    "arrays",
    "containers",
    "fits",
    "formulas",
    "inert",
    "is_inert",
    "is_method",
    "places",
    "plain",
    "rule_adjoint",
    "rule_of",
    "vars_of",
]
