"""tinyjax beside JAX, autograd, PyTorch and NumPy: what users wait for, measured."""

import os

# Compiled programs are measured as such; what is measured with another tier says so.
os.environ.setdefault("TINYJAX_TIER", "compiled")
