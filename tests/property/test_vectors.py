"""The numbers of the theory notes (../shared/theory/vectors.json), computed there by other code, to their digits.

The essential ones stand here as literals and are checked everywhere; the whole file is checked where it is present.
A float of the accountant is an upper bound: it may be above the vector by 1e-9 of it, but not below.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

import mpmath
import pytest

from tapveil.privacy import spectrum
from tapveil.privacy.accountant import ChangedCells, Exposure, delta, epsilon
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, Mechanism, StabilityHistogram
from tapveil.privacy.noise import NoiseTable, discrete_laplace, endless_laplace, rounded_laplace

VECTORS = Path(__file__).parents[2].parent / "shared" / "theory" / "vectors.json"

DELTA = Fraction(1, 8_000_000)
TOTAL = Fraction(3, 4_000_000)
HALF = Fraction(1, 2)
REPLACE, ADD_REMOVE = Exposure("replace"), Exposure("add-remove")
EXPOSURES = {"replace": REPLACE, "addremove": ADD_REMOVE}
OPAL_WEIGHTS = (Fraction(1),) * 4 + (Fraction(2),) * 2
NEVER = 500
"""A threshold that no singleton of the tables here reaches: B cells alone."""
GRID = Fraction(1, 2**60)
"""How far a probability of a 64-bit table may lie from the closed form; floors upon floors go a little further."""
FLOORS = Fraction(1, 10**16)


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    if not VECTORS.exists():
        pytest.skip("the vectors are not beside this checkout (../shared/theory)")
    known: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))
    return known


def exact(x: float | str) -> Fraction:
    """A number as it is written, not as its float."""
    return Fraction(str(x))


def agrees(ours: Fraction, text: str, slack: Fraction = Fraction(0)) -> bool:
    """To the last digit of the text, and a slack for the grid of the table."""
    last_digit = Fraction(10) ** int(Decimal(text).as_tuple().exponent)
    return abs(ours - Fraction(text)) <= last_digit + slack


def covers(ours: float, known: float | str, within: float = 1e-9) -> bool:
    """An upper bound, and no idle one."""
    return exact(known) * (1 - Fraction(1, 10**15)) <= Fraction(ours) <= exact(known) * (1 + exact(within))


def cells(*groups: tuple[Mechanism, int]) -> list[ChangedCells]:
    return [mechanism.cells for mechanism, times in groups for _ in range(times)]


def laplace_release(one_way: int, two_way: int, narrower: Fraction = Fraction(1)) -> list[ChangedCells]:
    """The paper's weights, with discrete noise: four tables at ε₀ = ½ and two at 1."""
    return cells((Laplace(narrower / 2, one_way), 4), (Laplace(narrower, two_way), 2))


def gaussian_release(sigmas: Sequence[float | str], thresholds: Sequence[int]) -> list[ChangedCells]:
    one_way, two_way = (Gaussian(exact(sigma), t) for sigma, t in zip(sigmas, thresholds, strict=True))
    return cells((one_way, 4), (two_way, 2))


def whole_cells(scale: Fraction, singleton: Fraction) -> ChangedCells:
    """The rounded continuous noise of large counts: unit intervals that no threshold cuts."""
    table = rounded_laplace(scale, -HALF)
    left, entered = (
        spectrum.of_table(table, 2 * shift, spectrum.rounded_laplace_losses(scale, (-HALF,), shift))
        for shift in (1, -1)
    )
    return ChangedCells(singleton, left, entered)


def large_counts(narrower: Fraction = Fraction(1), singleton: Fraction = DELTA / 4) -> list[ChangedCells]:
    return [whole_cells(2 / narrower, singleton)] * 4 + [whole_cells(1 / narrower, singleton)] * 2


def number_after(key: str, name: str) -> str:
    """`number_after("eps0=0.1,tau=2", "tau")` is "2"."""
    return key.split(f"{name}=")[1].replace(",", " ").split()[0]


# --- 1: one table of the paper --------------------------------------------------------------------------------------

SLACKS = {"paper": 1, "per_cell_delta_over_2": 2, "tight_bad_event_delta": 4}
"""The other thresholds of the notes are the paper's at a larger δ: 1 + b ln(1/δ) is 1 + b ln(2/2δ)."""


@pytest.mark.parametrize(
    ("epsilon", "times", "threshold", "smallest"),
    [
        (1, 1, "34.1761985604081107", 34),
        (1, 2, "32.7899041992882201", 33),
        (1, 4, "31.4036098381683294", 31),
        (2, 1, "17.5880992802040553", 18),
        (2, 2, "16.8949520996441100", 17),
        (2, 4, "16.2018049190841647", 16),
    ],
)
def test_thresholds(epsilon: int, times: int, threshold: str, smallest: int) -> None:
    mechanism = StabilityHistogram(Fraction(epsilon), times * DELTA)
    assert agrees(mechanism.threshold, threshold)
    assert mechanism.smallest_published == smallest
    assert abs(mechanism.publish_probability(1) - times * DELTA / 4) < GRID


@pytest.mark.parametrize(
    ("epsilon", "count", "probability"),
    [(1, 5, "2.30908003091583e-7"), (1, 34, "0.457834982154797"), (2, 18, "0.668804982497187")],
)
def test_probabilities_of_being_published(epsilon: int, count: int, probability: str) -> None:
    assert agrees(StabilityHistogram(Fraction(epsilon), DELTA).publish_probability(count), probability, GRID)


@pytest.mark.parametrize("epsilon", [1, 2])
@pytest.mark.parametrize("name", SLACKS)
def test_section_1_thresholds(vectors: dict[str, Any], epsilon: int, name: str) -> None:
    row = vectors["1_sbh"][f"eps={epsilon},delta=1/8e6,{name}"]
    mechanism = StabilityHistogram(Fraction(epsilon), SLACKS[name] * DELTA)
    assert agrees(mechanism.threshold, row["T"])
    assert agrees(mechanism.scale, row["scale"])
    assert agrees(mechanism.publish_probability(1), row["bad_event"], GRID)
    assert mechanism.smallest_published == row["min_printed_value"]
    for count, probability in row["P_release_at_count"].items():
        assert agrees(mechanism.publish_probability(int(count)), probability, GRID), count


@pytest.mark.parametrize("epsilon", [1, 2])
def test_section_1_brute_force(vectors: dict[str, Any], epsilon: int) -> None:
    table = [StabilityHistogram(Fraction(epsilon), DELTA).cells]
    one_cell = vectors["1_sbh"][f"bruteforce_addremove_eps={epsilon}"]["delta_at_eps_over_2_c1"]
    assert covers(delta(table, epsilon / 2, ADD_REMOVE), one_cell)
    assert covers(delta(table, float(epsilon), REPLACE), one_cell)


# --- 2, 4, 6: whole releases ----------------------------------------------------------------------------------------


def opal() -> list[ChangedCells]:
    return cells((StabilityHistogram(Fraction(1), DELTA), 4), (StabilityHistogram(Fraction(2), DELTA), 2))


def test_the_papers_release() -> None:
    assert covers(delta(opal(), 8.0, REPLACE), "1.87499985351563110e-7")
    assert covers(delta(opal(), 4.0, ADD_REMOVE), "1.87499985351563110e-7")


@pytest.mark.parametrize(
    ("exposure", "target", "known"),
    [
        (REPLACE, 7.5e-7, "7.85917334116693260"),
        (REPLACE, 1e-6, "7.84872057067490211"),
        (ADD_REMOVE, 7.5e-7, "3.99964526239530654"),
        (ADD_REMOVE, 1e-6, "3.99952698855739252"),
    ],
)
def test_large_counts_of_the_papers_release(exposure: Exposure, target: float, known: str) -> None:
    """True of whole unit intervals, so of large counts alone: beside the threshold the paper's mechanism loses more."""
    assert covers(epsilon(large_counts(), target, exposure), known, within=1e-11)
    assert epsilon(opal(), target, exposure) > float(known) * (1 + 1e-5)


@pytest.mark.parametrize(
    ("one_way", "two_way", "known"),
    [
        (35, 18, "1.63608443092587200e-7"),
        (34, 18, "2.30477138159893789e-7"),
        (32, 17, "6.26501713621122075e-7"),
        (37, 16, "4.85185135764722259e-7"),
        (42, 16, "4.50377657112487748e-7"),
    ],
)
def test_discrete_releases(one_way: int, two_way: int, known: str) -> None:
    tables = laplace_release(one_way, two_way)
    assert covers(delta(tables, 8.0, REPLACE), known)
    assert covers(delta(tables, 4.0, ADD_REMOVE), known)


@pytest.mark.parametrize(
    ("exposure", "target", "known"),
    [
        (REPLACE, 7.5e-7, "7.99988348281077855"),
        (REPLACE, 1e-2, "6.80580839941763583"),
        (ADD_REMOVE, 7.5e-7, "3.99999065207949034"),
        (ADD_REMOVE, 1e-3, "3.98745783913945778"),
    ],
)
def test_epsilons_of_a_discrete_release(exposure: Exposure, target: float, known: str) -> None:
    assert covers(epsilon(laplace_release(34, 18), target, exposure), known, within=1e-11)


@pytest.mark.parametrize(
    ("exposure", "at", "known"),
    [
        (REPLACE, 0.0, "0.770986889897285024"),
        (REPLACE, 7.99, "0.0000640511456586900937"),
        (ADD_REMOVE, 0.0, "0.603690439911548619"),
        (ADD_REMOVE, 3.0, "0.0507164112537710093"),
    ],
)
def test_deltas_of_a_discrete_release(exposure: Exposure, at: float, known: str) -> None:
    assert covers(delta(laplace_release(34, 18), at, exposure), known, within=1e-11)


@pytest.mark.parametrize(
    ("trips", "target", "known"),
    [(1, 7.5e-7, 3.999990652079532), (4, 3e-6, 15.924847202927594), (40, 3e-5, 93.941315050929)],
)
def test_a_whole_card(trips: int, target: float, known: float) -> None:
    assert covers(epsilon(laplace_release(34, 18), target, Exposure("add-remove", trips)), known, within=1e-11)


FRONTIER = {16: 33, 17: 32, 18: 32, 19: 32}


@pytest.mark.parametrize(("two_way", "one_way"), FRONTIER.items())
def test_the_least_thresholds_of_discrete_noise(two_way: int, one_way: int) -> None:
    assert delta(laplace_release(one_way, two_way), 8.0) <= TOTAL < delta(laplace_release(one_way - 1, two_way), 8.0)


def test_noise_can_hardly_be_narrower() -> None:
    assert covers(delta(laplace_release(NEVER, NEVER, exact("1.00001456410010334")), 8.0), float(TOTAL))
    last_digit = exact("1e-7")
    less, more = (delta(large_counts(exact("1.0181435") + d, Fraction(0)), 8.0) for d in (-last_digit, last_digit))
    assert less < TOTAL < more


def test_section_2_composition(vectors: dict[str, Any]) -> None:
    for name, row in vectors["2_6_composition"].items():
        if not name.startswith("discrete_laplace"):
            continue
        for epsilon0, threshold, p in ((HALF, row["tau1"], row["p1"]), (Fraction(1), row["tau2"], row["p2"])):
            assert agrees(Laplace(epsilon0, threshold).publish_probability(1), p, FLOORS)
        tables = laplace_release(row["tau1"], row["tau2"])
        check_release(tables, row)


def test_section_2_of_the_paper(vectors: dict[str, Any]) -> None:
    row = vectors["2_6_composition"]["paper_continuous_rounded"]
    check_release(large_counts(), row)
    check_release(opal(), {key: row[key] for key in ("replace_delta_at_8", "addremove_delta_at_4")})


def check_release(tables: list[ChangedCells], row: dict[str, str]) -> None:
    """Keys such as `replace_delta_at_8` and `addremove_eps_at_1e-6`."""
    checked = 0
    for key, known in row.items():
        notion, _, rest = key.partition("_")
        kind, _, at = rest.partition("_at_")
        if kind in ("delta", "eps") and notion in EXPOSURES:
            ours = (delta if kind == "delta" else epsilon)(tables, float(at), EXPOSURES[notion])
            assert covers(ours, known), key
            checked += 1
    assert checked


def test_section_4b_frontier(vectors: dict[str, Any]) -> None:
    known = vectors["4b_split"]["frontier tau2->least tau1"]["SBH_discrete"]
    assert {int(two_way): one_way for two_way, one_way in known.items()} == FRONTIER


def test_section_6_second_opinions_of_the_notes(vectors: dict[str, Any]) -> None:
    """What the notes got from dp-accounting: it brackets ours."""
    known = vectors["6_pld"]
    releases = {
        "dp_accounting_discrete_laplace": laplace_release(34, 18),
        "dp_accounting_rounded_continuous": large_counts(),
    }
    for name, tables in releases.items():
        for notion, exposure in EXPOSURES.items():
            for target in ("7.5e-07", "1e-06"):
                ours = epsilon(tables, float(target), exposure)
                lower, upper = (known[name][f"{end} {notion} eps@{target}"] for end in ("lower", "upper"))
                assert lower <= ours <= upper * (1 + 1e-11), (name, notion, target)


def test_section_6_thresholds(vectors: dict[str, Any]) -> None:
    for row in vectors["6_pld"]["thresholds_fixed_total_8_7.5e-7_replace"].values():
        assert covers(delta(laplace_release(row["tau1"], row["tau2"]), 8.0), row["exact_total_delta_at_8"])
        for epsilon0, threshold, p in ((HALF, row["tau1"], row["p1"]), (Fraction(1), row["tau2"], row["p2"])):
            table = Laplace(epsilon0, threshold).noise
            assert table.tail(threshold - 1) <= Fraction(p) < table.tail(threshold - 2)


def test_section_6b_curve(vectors: dict[str, Any]) -> None:
    tables = laplace_release(34, 18)
    for key, known in vectors["6b_curve"]["delta_curve tau=(34,18)"].items():
        assert covers(delta(tables, float(number_after(key, "eps")), EXPOSURES[key.split(",")[0]]), known), key
    for key, known in vectors["6b_curve"]["eps_at_delta"].items():
        assert covers(epsilon(tables, float(number_after(key, "delta")), EXPOSURES[key.split(",")[0]]), known), key


def test_section_6b_cards(vectors: dict[str, Any]) -> None:
    tables = laplace_release(34, 18)
    (name,) = (key for key in vectors["6b_curve"] if key.startswith("card_level"))
    for key, known in vectors["6b_curve"][name].items():
        trips = int(number_after(key, "m"))
        exposure = Exposure("add-remove", trips)
        if "floor_delta" in key:
            # 1 − ∏(1 − p) in floats: the vector itself is right to some 1e-16 only, once for every factor.
            assert delta(tables, 200.0, exposure) == pytest.approx(known, rel=0, abs=1e-15 + 1e-16 * trips)
        else:
            assert covers(epsilon(tables, float(number_after(key, "delta")), exposure), known), key


# --- 3: tables of discrete Laplace noise ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon0", "seed", "reach", "total", "beta"),
    [
        ("0.5", 2, 85, 12889225809892140908, "1.55168357626651e-19"),
        ("0.5", 3, 84, 12889225809892140904, "2.32752536439976e-19"),
        ("0.5", 1048576, 58, 16831301036478769918, "6.22991649740803e-14"),
        ("1", 1, 44, 17770286607883149156, "5.62737125216870e-20"),
        ("1", 17, 40, 8589026915343763254, "1.97926961547071e-18"),
        ("0.0625", 17, 617, 17352480553428885517, "9.79687022132450e-19"),
    ],
)
def test_floor_tables(epsilon0: str, seed: int, reach: int, total: int, beta: str) -> None:
    table = discrete_laplace(exact(epsilon0), seed=seed)
    assert (table.first, table.last, table.weights[0], table.total) == (-reach, reach, seed, total)
    assert agrees(table.shift_delta(exact(epsilon0)), beta)
    assert table.shift_delta(exact(epsilon0)) == Fraction(seed, total), "nothing but the mass of the last step"


SMALL = {
    "1": (14075, 5178, 1905, 701, 258, 95, 35, 13, 5, 2),
    "0.5": (14708, 8921, 5411, 3282, 1991, 1208, 733, 445, 270, 164, 100, 61, 37, 23, 14, 9, 6, 4, 3, 2),
}


@pytest.mark.parametrize(("epsilon0", "half", "beta"), [("1", SMALL["1"], "2/30459"), ("0.5", SMALL["0.5"], "1/30038")])
def test_small_floor_tables(epsilon0: str, half: tuple[int, ...], beta: str) -> None:
    table = discrete_laplace(exact(epsilon0), words=2**16, seed=2)
    assert table == NoiseTable(1 - len(half), (*reversed(half), *half[1:]))
    assert table.shift_delta(exact(epsilon0)) == Fraction(beta)


def test_the_least_seeds_and_the_greatest_reach_are_found() -> None:
    """Left to itself, a table starts from the least weight that grows at once, and fills its words."""
    assert [(discrete_laplace(Fraction(e)).weights[0], discrete_laplace(Fraction(e)).last) for e in ("0.5", "1")] == [
        (2, 85),
        (1, 44),
    ]
    small = discrete_laplace(HALF, words=2**16)
    assert small.weights[small.last :] == SMALL["0.5"]


@pytest.mark.parametrize(
    ("epsilon0", "threshold", "p"),
    [
        ("0.5", 35, "2.5769428636523462975e-8"),
        ("0.5", 34, "4.2486605126825234578e-8"),
        ("1", 18, "3.0265369843118287883e-8"),
        ("0.1", 20, "0.0785204121918459143"),
        ("2", 10, "1.34145216568052191e-8"),
    ],
)
def test_singletons_of_discrete_noise(epsilon0: str, threshold: int, p: str) -> None:
    assert agrees(Laplace(exact(epsilon0), threshold).publish_probability(1), p, FLOORS)
    assert agrees(endless_laplace(exact(epsilon0)).tail(threshold - 1), p, FLOORS)


def test_section_3_thresholds(vectors: dict[str, Any]) -> None:
    rows = [(key, row) for key, row in vectors["3_discrete_table"].items() if key.startswith("eps=")]
    assert len(rows) == 6
    for key, row in rows:
        bound = DELTA / {"delta": 1, "delta/2": 2, "delta/4": 4}[key.split("<=")[1]]
        table = discrete_laplace(Fraction(number_after(key, "eps")) / 2)
        p, p_one_less = table.tail(row["tau"] - 1), table.tail(row["tau"] - 2)
        assert agrees(p, row["p"], FLOORS)
        assert agrees(p_one_less, row["p_at_tau_minus_1"], FLOORS)
        assert p <= bound < p_one_less
        assert row["tau"] == ceil(Fraction(row["real_tau"]))


def test_section_3_singletons(vectors: dict[str, Any]) -> None:
    for key, p in vectors["3_discrete_table"]["generic_test"].items():
        epsilon0, threshold = exact(number_after(key, "eps0")), int(number_after(key, "tau"))
        for table in (discrete_laplace(epsilon0), endless_laplace(epsilon0)):
            assert agrees(table.tail(threshold - 1), p, FLOORS), key


def test_section_3_floor_tables(vectors: dict[str, Any]) -> None:
    rows = {key: row for key, row in vectors["3_discrete_table"].items() if key.startswith("floor_") and "N=64" in key}
    assert len(rows) == 11
    for key, row in rows.items():
        epsilon0, seed = exact(number_after(key, "eps0")), int(number_after(key, "seed"))
        table = discrete_laplace(epsilon0, seed=seed)
        assert [table.first, table.last] == row["support"]
        assert table.weights[0] == row["edge_weight"]
        assert table.total == int(row["total"])
        assert agrees(table.probability(table.last), row["boundary_mass"])
        assert agrees(table.shift_delta(epsilon0), row["beta_at_eps0"])
        assert agrees(distance_to_ideal(table, epsilon0), row["tv_to_ideal"])


def distance_to_ideal(table: NoiseTable, epsilon0: Fraction) -> Fraction:
    """The total variation distance to (1 − q)/(1 + q) · q^|k|."""
    with mpmath.workdps(60):
        q = mpmath.exp(-mpmath.mpf(epsilon0.numerator) / epsilon0.denominator)
        ideal = [(1 - q) / (1 + q) * q ** abs(k) for k in range(table.first, table.last + 1)]
        total = mpmath.mpf(table.total)
        inside = sum(abs(w / total - p) for w, p in zip(table.weights, ideal, strict=True))
        return Fraction(mpmath.nstr((inside + 2 * q ** (table.last + 1) / (1 + q)) / 2, 40))


def test_section_3_small_tables(vectors: dict[str, Any]) -> None:
    for key, row in vectors["3_small_tables"].items():
        if key.startswith("floor_"):
            epsilon0 = exact(number_after(key, "eps0"))
            table = discrete_laplace(epsilon0, words=2**16, seed=2)
            assert list(table.weights[table.last :]) == row["weights_k_ge_0"]
            assert table.total == row["total"]
            assert table.shift_delta(epsilon0) == Fraction(row["beta_fraction"])


# --- 5: Gaussian noise ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sigmas", "thresholds", "at", "exposure", "known"),
    [
        (("2.285", "2.285"), (14, 13), 8, REPLACE, "7.431837343734741e-07"),
        (("3.232", "1.616"), (18, 10), 8, REPLACE, "7.376085483270265e-07"),
        (("4.182", "2.091"), (23, 13), 4, ADD_REMOVE, "7.399317494172084e-07"),
        (("40.07", "20.035"), (215, 102), 0.5, REPLACE, "7.498984979428157e-07"),
    ],
)
def test_gaussian_releases(
    sigmas: tuple[str, str], thresholds: tuple[int, int], at: float, exposure: Exposure, known: str
) -> None:
    assert covers(delta(gaussian_release(sigmas, thresholds), at, exposure), known)


@pytest.mark.parametrize(
    ("sigmas", "thresholds", "at", "exposure", "known"),
    [
        (("3.616", "1.539"), (22, 9), 8, REPLACE, "7.494346645504513e-07"),
        (("2.863", "1.738"), (18, 10), 8, REPLACE, "7.467278135494612e-07"),
        (("4.009", "2.138"), (25, 12), 4, ADD_REMOVE, "7.491570898645506e-07"),
        (("3.261", "2.539"), (21, 14), 4, ADD_REMOVE, "7.488009574877669e-07"),
    ],
)
def test_the_least_thresholds_of_gaussian_noise(
    sigmas: tuple[str, str], thresholds: tuple[int, int], at: float, exposure: Exposure, known: str
) -> None:
    check_frontier(sigmas, thresholds, at, exposure, known)


def check_frontier(
    sigmas: Sequence[float | str], thresholds: tuple[int, int], at: float, exposure: Exposure, known: str
) -> None:
    """The vector is met, and neither threshold could be lower by one."""
    assert covers(delta(gaussian_release(sigmas, thresholds), at, exposure), known)
    one_way, two_way = thresholds
    for lower in ((one_way - 1, two_way), (one_way, two_way - 1)):
        assert delta(gaussian_release(sigmas, lower), at, exposure) > TOTAL


@pytest.mark.parametrize(
    ("at", "known"), [(0.3, "0.3021129893108023"), (1.0, "0.13498973629470612"), (2.0, "0.023572162127942668")]
)
def test_shifts_of_gaussian_noise(at: float, known: str) -> None:
    assert covers(delta(cells((Gaussian(exact("1.7"), NEVER), 3)), at, ADD_REMOVE), known, within=1e-12)


@pytest.mark.parametrize(
    ("sigmas", "thresholds", "at", "known"),
    [
        (("1.5", "1.1"), (5, 4), 1.3, "0.2951703511591163"),
        (("1.5", "1.1"), (4, 3), 4.0, "0.12014091449195079"),
        (("2.0", "1.5"), (4, 3), 2.2, "0.24224103014561724"),
        (("1.2", "1.2"), (3, 4), 3.0, "0.12425462100402465"),
    ],
)
def test_mixed_patterns_of_gaussian_noise(
    sigmas: tuple[str, str], thresholds: tuple[int, int], at: float, known: str
) -> None:
    """The worst has A and B cells: neither all singletons nor all shifts. The vectors are brute force."""
    tables = [Gaussian(exact(s), t).cells for s, t in zip(sigmas, thresholds, strict=True)]
    assert covers(delta(tables, at, REPLACE), known, within=1e-12)


def test_section_5_designs(vectors: dict[str, Any]) -> None:
    for row in vectors["5_gauss_disc"]["designs_discrete_gaussian"]:
        sigmas, thresholds = (row["sigma1"], row["sigma2"]), (row["tau1"], row["tau2"])
        ours = delta(gaussian_release(sigmas, thresholds), row["eps"], EXPOSURES[row["mode"]])
        assert covers(ours, row["delta"]), row
        for sigma, threshold, p in zip(sigmas, thresholds, (row["p1"], row["p2"]), strict=True):
            assert agrees(Gaussian(exact(sigma), threshold).publish_probability(1), p, FLOORS)


def test_section_5_brute_force(vectors: dict[str, Any]) -> None:
    for key, known in vectors["5_gauss_disc"]["dG_disc_bruteforce"].items():
        tables = cells((Gaussian(exact(number_after(key, "sigma")), NEVER), int(number_after(key, "n"))))
        assert covers(delta(tables, float(number_after(key, "alpha")), ADD_REMOVE), known), key
    (row,) = (row for key, row in vectors["5_gauss_disc"].items() if key.startswith("dp_accounting_vs_exact"))
    assert covers(delta(gaussian_release(("3.2", "1.6"), (NEVER, NEVER)), 8.0), row["exact"])
    mixed = [(key, row["formula"]) for key, row in vectors["5_gauss_mp"].items() if key.startswith("mixed brute")]
    assert len(mixed) == 3
    for key, known in mixed:
        sigmas, thresholds = (key.split(f"{name}=(")[1].split(")")[0].split(",") for name in ("sigma", "tau"))
        tables = [Gaussian(exact(s), int(t)).cells for s, t in zip(sigmas, thresholds, strict=True)]
        assert covers(delta(tables, float(number_after(key, "alpha")), REPLACE), known), key


def test_section_5_check(vectors: dict[str, Any]) -> None:
    for key, row in vectors["5_check"].items():
        ours = delta(gaussian_release(key.split("(")[1].strip(")").split(","), (NEVER, NEVER)), 8.0)
        assert covers(ours, row["exact"]), key
        assert row["dp_accounting_lower"] <= ours <= row["dp_accounting_upper"]


def test_section_5_frontier(vectors: dict[str, Any]) -> None:
    for key, rows in vectors["5_frontier"].items():
        at, notion = key.removeprefix("eps=").split()
        for row in rows:
            sigmas, thresholds = (f"{row['sigma1']:.3f}", f"{row['sigma2']:.3f}"), (row["tau1"], row["tau2"])
            check_frontier(sigmas, thresholds, float(at), EXPOSURES[notion], row["delta"])


# --- 5: calibration -------------------------------------------------------------------------------------------------


def test_the_papers_total_buys_its_own_scales_and_lower_thresholds() -> None:
    mechanisms = calibrate("laplace", OPAL_WEIGHTS, Fraction(8), TOTAL, REPLACE)
    assert mechanisms == (Laplace(HALF, 32),) * 4 + (Laplace(Fraction(1), 17),) * 2


@pytest.mark.parametrize(
    ("at", "ratio", "sigma", "t1", "t2"),
    [
        ("8", 1, 2.283734665679226, 12.77882114822174, 12.77882114822174),
        ("8", 2, 1.614844268532573, 17.65776861658221, 9.328884308291105),
        ("4", 2, 2.956429974300326, 31.49676516966846, 16.24838258483423),
        ("1", 2, 10.49215912919481, 109.2308445886913, 55.11542229434565),
        ("0.5", 1, 28.33357441360069, 147.1361122739601, 147.1361122739601),
    ],
)
def test_gaussian_designs(at: str, ratio: int, sigma: float, t1: float, t2: float) -> None:
    check_gaussian_design(Fraction(at), ratio, sigma, (t1, t2), REPLACE)


def test_section_5_gaussian_designs(vectors: dict[str, Any]) -> None:
    rows = [(key, row) for key, row in vectors["5_gauss_mp"].items() if key.startswith("replace")]
    assert len(rows) == 12
    for key, row in rows:
        thresholds = (float(row["T1"]), float(row["T2"]))
        ratio = int(number_after(key, "r"))
        check_gaussian_design(exact(number_after(key, "eps")), ratio, float(row["sigma2"]), thresholds, REPLACE)


def check_gaussian_design(
    at: Fraction, ratio: int, sigma: float, thresholds: tuple[float, float], exposure: Exposure
) -> None:
    """The vectors have continuous noise, of which ours is the discrete kind.

    Its σ may be a thousandth more or less: that is how far the two differ at these σ, and how finely σ is searched
    (or a 2000th of it, if that is more). An integer reaches τ if the continuous noise reaches τ − ½, so that τ is
    T + ½, rounded up, or down where the other tables leave room. Where the tables differ much the finest go first and
    the others pay for it: then τ of the finest alone is known, and that it is not higher.
    """
    weights = (Fraction(1),) * 4 + (Fraction(ratio),) * 2
    mechanisms = calibrate("gaussian", weights, at, TOTAL, exposure)
    check_width(float(mechanisms[-1].scale), sigma, either_way=0.001)
    assert mechanisms[0].scale == ratio * mechanisms[-1].scale
    one_way, two_way = (int(mechanism.threshold) for mechanism in (mechanisms[0], mechanisms[-1]))
    t1, t2 = thresholds
    assert two_way <= ceil(t2 + 0.5)
    if ratio < 4:
        assert two_way >= floor(t2 + 0.5)
        assert floor(t1 + 0.5) <= one_way <= ceil(t1 + 0.5)
    assert delta([mechanism.cells for mechanism in mechanisms], float(at), exposure) <= TOTAL


def check_width(ours: float, known: float, either_way: float) -> None:
    assert known - either_way <= ours <= known + max(0.001, known / 2000) + either_way


@pytest.mark.parametrize("at", [8, 1])
@pytest.mark.parametrize(("days", "trips"), [(1, 1), (1, 2), (1, 4), (1, 10), (14, 2), (14, 4)])
def test_section_5_cards(vectors: dict[str, Any], at: int, days: int, trips: int) -> None:
    (row,) = (
        row
        for row in vectors["5_card"]["card_level"]
        if (row["eps"], row["days"], row["m"], row["linf"]) == (at, days, trips, 1)
    )
    exposure = Exposure("add-remove", trips * days)
    check_gaussian_design(Fraction(at), 2, row["gauss_s2"], (row["gauss_T1"], row["gauss_T2"]), exposure)
    check_laplace_design(at, exposure, row["lap_exact_b2"], (row["lap_exact_T1"], row["lap_exact_T2"]))


@pytest.mark.parametrize(
    ("trips", "scale", "t1", "t2"),
    [
        (1, 0.49999978845881765, 16.581684933571893, 8.884009259146783),
        (4, 1.9176215602731268, 65.08689693352945, 33.245239306767644),
        (10, 3.389496712085129, 120.14372894377861, 60.79433012981693),
    ],
)
def test_laplace_designs_of_a_card(trips: int, scale: float, t1: float, t2: float) -> None:
    check_laplace_design(8, Exposure("add-remove", trips), scale, (t1, t2))


def check_laplace_design(at: int, exposure: Exposure, scale: float, thresholds: tuple[float, float]) -> None:
    """The vectors have our own noise at the narrowest real scale: we are never narrower, and but for the fineness of
    the search no wider. T solves p(T) = δ/n for real T: an integer is above it, or one less where others leave room.
    """
    mechanisms = calibrate("laplace", OPAL_WEIGHTS, Fraction(at), TOTAL, exposure)
    check_width(float(mechanisms[-1].scale), scale, either_way=1e-9)
    for mechanism, t in zip((mechanisms[0], mechanisms[-1]), thresholds, strict=True):
        assert floor(t) <= mechanism.threshold <= ceil(t)
    assert delta([mechanism.cells for mechanism in mechanisms], float(at), exposure) <= TOTAL


# --- 7: a public list of cells --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "known"), [(1, "0.337834712147041174"), (2, "0.670809907170869409")])
def test_the_papers_scale_for_a_public_list_is_half_of_what_a_replacement_needs(at: int, known: str) -> None:
    assert covers(delta([Dictionary(Fraction(at)).cells], float(at), REPLACE), known, within=1e-12)
    assert delta([Dictionary(Fraction(at) / 2).cells], float(at), REPLACE) < 1e-13
    assert delta([Dictionary(Fraction(at)).cells], float(at), ADD_REMOVE) < 1e-13


@pytest.mark.parametrize(
    ("scale", "p", "mean"),
    [
        ("0.5", "0.119202922022117556", "0.137860282385891604"),
        ("1", "0.268941421369995121", "0.425459064119660773"),
        ("16", "0.484380084276984372", "7.99479403927882504"),
    ],
)
def test_empty_cells_of_a_public_list(scale: str, p: str, mean: str) -> None:
    dictionary = Dictionary(1 / Fraction(scale))
    assert agrees(dictionary.publish_probability(0), p, FLOORS)
    assert agrees(mean_published(dictionary.noise), mean, 10**3 * FLOORS)


def mean_published(table: NoiseTable) -> Fraction:
    """E[noise · 1{noise ≥ 1}]: the sum of all tails, and beyond the table a geometric series."""
    tails = sum(table.tail(table.steps_per_count * k) for k in range(1, table.last // table.steps_per_count + 1))
    return tails + table.tail(table.last + 1) / (1 - table.continues)


@pytest.mark.parametrize(
    ("empty", "scale", "at_most", "cut", "expected"),
    [
        (28_800, 1, "1", 10, "0.955872233915"),
        (57_600, 2, "1", 21, "0.987282423125"),
        (2_500_000, 1, "1", 15, "0.559081289064"),
        (100_000_000, 2, "0.01", 46, "0.00638760273242"),
    ],
)
def test_cuts_of_a_public_list(empty: int, scale: int, at_most: str, cut: int, expected: str) -> None:
    check_cut(empty, Fraction(scale), Fraction(at_most), cut, expected)


def check_cut(empty: int, scale: Fraction, at_most: Fraction, cut: int, expected: str) -> None:
    """The least cut at which no more empty cells are to be expected than so many."""
    with_cut, one_less = (empty * Dictionary(1 / scale, least).publish_probability(0) for least in (cut, cut - 1))
    assert agrees(with_cut, expected, empty * FLOORS)
    assert with_cut <= at_most < one_less


def test_section_7_public_lists(vectors: dict[str, Any]) -> None:
    known = vectors["7_public"]
    for key, row in known.items():
        if key.startswith("b="):
            scale = Fraction(key.removeprefix("b="))
            endless, rounded = endless_laplace(1 / scale), rounded_laplace(scale, -HALF)
            assert agrees(endless.tail(1), row["disc_P_ge1"], FLOORS)
            assert agrees(mean_published(endless), row["disc_mean"], 10**3 * FLOORS)
            assert agrees(rounded.tail(2), row["cont_rounded_P_ge1"], GRID)
            assert agrees(mean_published(rounded), row["cont_rounded_mean"], 10**3 * GRID)
    for key, row in known["threshold_for_expected_spurious"].items():
        empty, scale = int(number_after(key, "N0")), Fraction(number_after(key, "b"))
        check_cut(empty, scale, Fraction(number_after(key, "E<")), row["t"], row["expected"])
    for at in (1, 2):
        (text,) = (text for key, text in known.items() if key.startswith(f"paper_text_scale_1_over_eps eps={at}"))
        assert covers(delta([Dictionary(Fraction(at)).cells], float(at), REPLACE), text)
