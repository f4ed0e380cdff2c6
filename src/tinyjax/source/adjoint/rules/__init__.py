"""Derivatives of calls.

A rule is a Python function of its own: from the cotangent and the result of a call and its
arguments to the cotangents of the arguments. It is in the language that is differentiated, so that
derivatives of any order need no further rules. Most are formulas (``formulas``); others are
functions: of containers (``containers``) and of some functions of NumPy (``arrays``). What an
operator stands for (``operators``) may be a method.
"""
