"""Whether two configurations differ by more than chance: paired tests over the same questions, by scipy.

Paired t-test and randomisation test, as recommended by Smucker, Allan and Carterette, "A comparison of statistical
significance tests for information retrieval evaluation", CIKM 2007.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from library.exceptions import NotConfigured

RESAMPLES = 10_000
SEED = 7
INSTALL_HINT = "Comparing needs scipy: pip install 'mnemosyne-library[eval]'"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`second` against `first` over the same questions. `difference` is of the means; p values are two-sided."""

    measure: str
    first: str
    second: str
    first_mean: float
    second_mean: float
    difference: float
    better: int
    worse: int
    equal: int
    t_test_p: float
    randomisation_p: float


def compare(measure: str, first: tuple[str, Sequence[float]], second: tuple[str, Sequence[float]]) -> Comparison:
    """Compare two configurations, each a name and its value of one measure for every question, in one order.

    Two that are equal in every question have p = 1. Raises `NotConfigured` without scipy, `ValueError` for lists of
    different lengths.
    """
    try:
        import numpy
        from scipy import stats
    except ImportError as error:
        raise NotConfigured(INSTALL_HINT) from error
    (name, ours), (other, theirs) = first, second
    pairs = list(zip(ours, theirs, strict=True))
    differences = numpy.array([b - a for a, b in pairs])
    if not differences.any():
        t_test, randomisation = 1.0, 1.0
    else:
        t_test = float(stats.ttest_rel(theirs, ours).pvalue)
        # A paired sample under the null hypothesis may have each of its differences with the other sign.
        randomisation = float(
            stats.permutation_test(
                (differences,),
                lambda values, axis: numpy.mean(values, axis=axis),
                permutation_type="samples",
                vectorized=True,
                n_resamples=RESAMPLES,
                rng=numpy.random.default_rng(SEED),
            ).pvalue
        )
    return Comparison(
        measure=measure,
        first=name,
        second=other,
        first_mean=sum(ours) / len(pairs),
        second_mean=sum(theirs) / len(pairs),
        difference=float(differences.mean()),
        better=sum(b > a for a, b in pairs),
        worse=sum(b < a for a, b in pairs),
        equal=sum(b == a for a, b in pairs),
        t_test_p=t_test,
        randomisation_p=randomisation,
    )
