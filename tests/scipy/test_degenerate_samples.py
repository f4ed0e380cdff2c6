"""Statistics of samples without data, beside SciPy: constant, NaN, of one or two values, huge."""

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import scipy.stats

import tinyjax
from raising import raises
from tinyjax.errors import ShapeError
from tinyjax.scipy import stats

pytestmark = pytest.mark.usefixtures("each_tier")

#: Samples of four values, of which the last is an ordinary one.
FOUR: Final = {
    "constant": [1.0, 1.0, 1.0, 1.0],
    "constant with a rounded mean": [0.1, 0.1, 0.1, 0.1],
    "another constant": [1 / 3, 1 / 3, 1 / 3, 1 / 3],
    "zeros": [0.0, 0.0, 0.0, 0.0],
    "NaN": [1.0, 2.0, np.nan, 3.0],
    "all NaN": [np.nan] * 4,
    "infinite": [1.0, 2.0, np.inf, 3.0],
    "two values": [1.0, 1.0, 1.0, 2.0],
    "ordinary": [1.0, 3.0, 2.0, 7.0],
}
FEW: Final = {
    "three constants": [0.1, 0.1, 0.1],
    "two": [1.0, 3.0],
    "two constants": [1.0, 1.0],
    "two with NaN": [1.0, np.nan],
    "one": [2.0],
    "none": [],
}
OTHER: Final = np.array([1.0, 2.0, 3.0, 5.0])

#: Statistics and p-values of one sample, and of two. They do not change with the scale.
ONE: Final[dict[str, Callable[..., Any]]] = {
    "describe": lambda m, x: m.describe(x)[4:],
    "kurtosis": lambda m, x: m.kurtosis(x),
    "kurtosis, corrected": lambda m, x: m.kurtosis(x, bias=False),
    "skew": lambda m, x: m.skew(x),
    "skew, corrected": lambda m, x: m.skew(x, bias=False),
    "zscore": lambda m, x: m.zscore(x),
    "zscore, corrected too much": lambda m, x: m.zscore(x, ddof=len(x)),
    "ttest_1samp": lambda m, x: m.ttest_1samp(x, 0.0),
}
TWO: Final[dict[str, Callable[..., Any]]] = {
    "pearsonr": lambda m, x, y: m.pearsonr(x, y),
    "spearmanr": lambda m, x, y: m.spearmanr(x, y),
    "linregress": lambda m, x, y: (m.linregress(x, y).rvalue, m.linregress(x, y).pvalue),
    "ttest_rel": lambda m, x, y: m.ttest_rel(x, y),
    "ttest_ind": lambda m, x, y: m.ttest_ind(x, y),
    "ttest_ind of two variances": lambda m, x, y: m.ttest_ind(x, y, equal_var=False),
    "f_oneway": lambda m, x, y: m.f_oneway(x, y),
}
#: These keep the scale, or the law of the p-value is another one.
OTHERS: Final[dict[str, Callable[..., Any]]] = {
    "linregress": lambda m, x, y: tuple(m.linregress(x, y))[:2],
    "ks_2samp": lambda m, x, y: (m.ks_2samp(x, y).statistic, 0 * m.ks_2samp(x, y).pvalue),
    "entropy": lambda m, x, y: m.entropy(x, y),
    "entropy of one": lambda m, x, _: m.entropy(x),
    "gmean": lambda m, x, _: m.gmean(x),
    "iqr": lambda m, x, _: m.iqr(x),
    "sem": lambda m, x, _: m.sem(x),
    "rankdata": lambda m, x, _: m.rankdata(x),
    "describe": lambda m, x, _: m.describe(x)[2:4],
}
CALLS: Final[dict[str, Callable[..., Any]]] = {
    **{name: (lambda m, x, _, call=call: call(m, x)) for name, call in ONE.items()},
    **TWO,
    **{f"{name} (other results)": call for name, call in OTHERS.items()},
    **{
        f"{name}, exchanged": (lambda m, x, y, call=call: call(m, y, x))
        for name, call in TWO.items()
    },
}


def numbers(value: Any) -> list[Any]:
    if hasattr(value, "statistic"):
        return [value.statistic, value.pvalue]
    return list(value) if isinstance(value, tuple) else [value]


def theirs(call: Callable[..., Any], x: Any, y: Any) -> list[Any] | None:
    """SciPy's numbers; NaN where it raises an error about the data, None where about sizes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return numbers(call(scipy.stats, x, y))
        except ValueError as error:
            return [np.nan, np.nan] if "identical" in str(error) else None


def test_every_statistic_has_a_row() -> None:
    results = {"DescribeResult", "SignificanceResult", "gaussian_kde", "mode"}
    functions = {name for name in stats.__all__ if callable(getattr(stats, name))} - results
    named = {name.split(" ")[0].split(",")[0] for name in (*ONE, *TWO, *OTHERS)}
    assert functions - named == set()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_samples_without_data_are_those_of_scipy(name: str, dtype: str) -> None:
    call, rtol = CALLS[name], 1e-7 if dtype == "float64" else 2e-4
    y = OTHER.astype(dtype)
    samples = np.array([*FOUR.values()], dtype)
    mapped = tinyjax.jit(tinyjax.vmap(lambda x: numbers(call(stats, x, y))))(samples)
    for i, (what, x) in enumerate(FOUR.items()):
        want = theirs(call, np.array(x), OTHER)
        assert want is not None
        for got in (numbers(call(stats, samples[i], y)), [value[i] for value in mapped]):
            for one, right in zip(got, want, strict=True):
                assert one.dtype == dtype
                np.testing.assert_allclose(one, right, rtol, 1e-6, err_msg=what)


@pytest.mark.parametrize("name", CALLS)
def test_small_samples_are_those_of_scipy_or_refused(name: str) -> None:
    for what, values in FEW.items():
        x, y = np.array(values), OTHER[: len(values)]
        want = theirs(CALLS[name], x, y)
        try:
            got = numbers(CALLS[name](stats, x, y))
        except ShapeError:
            assert what in ("one", "none"), (what, want)
            continue
        assert want is not None
        if what == "three constants" and "linregress" in name:
            want[-1] = want[0] = np.nan  # SciPy's mean is rounded
        for one, right in zip(got, want, strict=True):
            np.testing.assert_allclose(one, right, rtol=1e-7, atol=1e-15, err_msg=what)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_a_statistic_does_not_change_with_the_scale(name: str) -> None:
    call, x = CALLS[name], np.array(FOUR["ordinary"])
    want = numbers(call(stats, x, OTHER))
    for scale in (1e200, 1e-200, 2.0**500, 1e308 / 8):
        for got in (
            numbers(call(stats, scale * x, scale * OTHER)),
            tinyjax.jit(lambda x, y: numbers(call(stats, x, y)))(scale * x, scale * OTHER),
        ):
            for one, right in zip(got, want, strict=True):
                np.testing.assert_allclose(one, right, rtol=1e-9, err_msg=f"times {scale}")


def test_a_line_has_the_slope_of_huge_numbers() -> None:
    x = np.array(FOUR["ordinary"])
    want = stats.linregress(x, OTHER)
    for a, b in ((1e200, 1e-90), (1e-200, 1.0), (1.0, 1e200)):
        got = stats.linregress(a * x, b * OTHER)
        np.testing.assert_allclose(got.slope, want.slope * (b / a), rtol=1e-12)
        np.testing.assert_allclose(got.stderr, want.stderr * (b / a), rtol=1e-12)
        np.testing.assert_allclose(got.intercept, want.intercept * b, rtol=1e-12)


def test_derivatives_of_nothing_are_nan() -> None:
    constant = np.full(4, 0.1)
    for fun in (
        lambda x: stats.pearsonr(x, OTHER).statistic,
        lambda x: stats.pearsonr(x, OTHER).pvalue,
        lambda x: stats.linregress(x, OTHER).slope,
        stats.skew,
    ):
        assert np.isnan(tinyjax.grad(fun)(constant)).all()


def test_samples_of_two_sizes_are_refused() -> None:
    with raises(ShapeError, match="samples of one size, at least two"):
        stats.pearsonr(OTHER, OTHER[:3])
