"""SciPy's universal functions, evaluated by SciPy on the host, with derivatives from a table.

``table`` lists the functions with their derivatives, ``formulas`` has the functions in these, and
``host`` the one primitive that evaluates them. Eagerly that is a call of SciPy's function, and in a
compiled program one callback for the whole array.
"""
