"""Full collections of garbage while programs are recorded."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax._base.collecting import FEWER_FULL_COLLECTIONS


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_thresholds_are_those_before_it(thresholds: tuple[int, int, int]) -> None:
    for kind in (None, ValueError):
        try:
            with FEWER_FULL_COLLECTIONS, FEWER_FULL_COLLECTIONS:
                assert gc.get_threshold() == (*thresholds[:2], 1000)
                if kind is not None:
                    raise kind
        except ValueError:
            pass
        assert gc.get_threshold() == thresholds


def test_what_the_user_sets_meanwhile_stays() -> None:
    with FEWER_FULL_COLLECTIONS:
        gc.set_threshold(500, 5, 7)
    assert gc.get_threshold() == (500, 5, 7)
    gc.set_threshold(500, 5, 2000)
    with FEWER_FULL_COLLECTIONS:
        assert gc.get_threshold() == (500, 5, 2000)
    assert gc.get_threshold() == (500, 5, 2000)


def test_threads_that_overlap(thresholds: tuple[int, int, int]) -> None:
    inside = Barrier(2)

    def work() -> None:
        with FEWER_FULL_COLLECTIONS:
            inside.wait()

    threads = [Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gc.get_threshold() == thresholds


def test_a_large_program_is_recorded_without_full_collections() -> None:
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            generations.append(info["generation"])

    def function(x: Any) -> Any:
        total = x
        for k in range(4000):
            total = jnp.sin(total) * k + x
        return total

    x = np.float64(0.3)
    gc.collect()
    gc.callbacks.append(note)
    try:
        tinyjax.make_jaxpr(tinyjax.grad(function))(x)
    finally:
        gc.callbacks.remove(note)
    assert generations.count(0) > 20
    assert generations.count(2) <= 1
