"""Derivatives of calls.

A rule is a Python function of its own. It takes the cotangent and the result of a call and its
arguments, and returns the cotangents of the arguments. It is written in the language that is
differentiated, so that derivatives of any order need no further rules.

Most rules are formulas (``formulas``). Others are functions: of containers (``containers``) and of
some functions of NumPy (``arrays``). An operator (``operators``) may call a method.
"""
