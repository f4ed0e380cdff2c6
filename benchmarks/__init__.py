"""tinyjax beside JAX, autograd, PyTorch and NumPy: what users wait for, measured."""
