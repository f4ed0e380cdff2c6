"""Tensors of PyTorch as arrays, and arrays as tensors."""

import numpy as np
import pytest
import torch

import tinyjax.numpy as jnp
from tinyjax import dlpack


@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16"])
def test_dlpack_with_torch(dtype: str) -> None:
    """Both ways, without a copy."""
    tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype)).T
    found = dlpack.from_dlpack(tensor)
    assert (found.shape, found.dtype.name) == ((3, 2), dtype)
    assert np.asarray(found, copy=False).ctypes.data == tensor.data_ptr()
    back = torch.from_dlpack(found)
    assert back.data_ptr() == tensor.data_ptr()
    # which puts the elements in C's order, as code that reads the memory relies on
    np.testing.assert_array_equal(found, jnp.arange(6).reshape(2, 3).T.astype(dtype))
    assert torch.equal(back, tensor)
