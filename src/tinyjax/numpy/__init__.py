"""NumPy's functions on tinyjax arrays."""
from tinyjax.numpy.elementwise import *
