"""ρ of Gaussian noise: against the divergence of the tables that are drawn from, and against the accountant."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import exp, expm1, log, log1p
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tapveil.cli.console import check as console
from tapveil.plan.model import Plan
from tapveil.privacy import accountant, noise
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.concentrated import Concentrated, concentrated
from tapveil.privacy.mechanisms import Gaussian, Laplace, Mechanism
from tapveil.privacy.rational import power_below, sqrt_above
from tapveil.published.describe.readme import readme
from tapveil.published.describe.wording import rounded_up
from tapveil.published.manifest import Manifest
from tapveil.veil import statement
from tapveil.verification import manifest as manifests
from tests.conftest import TODAY, opal_text
from tests.golden.make import TOTAL

REPLACE, ADD_REMOVE = Exposure("replace"), Exposure("add-remove")
OPAL = calibrate("gaussian", (Fraction(1),) * 4 + (Fraction(2),) * 2, Fraction(8), Fraction(3, 4_000_000), REPLACE)


def part_of(mechanisms: tuple[Mechanism, ...], exposure: Exposure) -> Concentrated:
    part = concentrated(mechanisms, exposure)
    assert part
    return part


# --- the figures --------------------------------------------------------------------------------------------------


def test_mu_squared_is_the_sum_over_changed_cells() -> None:
    one, two = OPAL[0].scale, OPAL[-1].scale
    assert part_of(OPAL, REPLACE).mu_squared == 8 / one**2 + 4 / two**2  # NOTES §5
    assert part_of(OPAL, ADD_REMOVE).mu_squared == 4 / one**2 + 2 / two**2
    assert part_of(OPAL, Exposure("replace", 7)).mu_squared == 7 * part_of(OPAL, REPLACE).mu_squared
    assert part_of(OPAL, REPLACE).rho == part_of(OPAL, REPLACE).mu_squared / 2


def test_singletons_are_those_of_one_unit_in_either_notion() -> None:
    hidden = Fraction(1)
    for mechanism in OPAL:
        hidden *= 1 - mechanism.publish_probability(1)
    for exposure in (REPLACE, ADD_REMOVE):
        assert 0 <= part_of(OPAL, exposure).delta_singletons - (1 - hidden) < Fraction(1, 10**80)
    three = part_of(OPAL, Exposure("replace", 3)).delta_singletons
    assert 0 <= three - (1 - hidden**3) < Fraction(1, 10**80)


def test_other_noise_has_none() -> None:
    laplace = Laplace(Fraction(1), 20)
    assert concentrated([], REPLACE) is None
    assert concentrated([laplace], REPLACE) is None
    assert concentrated([*OPAL, laplace], REPLACE) is None


def test_figures_are_rounded_up_and_whole_ones_are_left_as_they_are() -> None:
    part = part_of(OPAL, REPLACE)
    assert part.mu**2 >= part.mu_squared
    stated = statement.gaussian(part)
    assert stated
    for name, true in (("mu", part.mu), ("rho", part.rho), ("delta_singletons", part.delta_singletons)):
        assert true <= Fraction(str(getattr(stated, name))) < true * (1 + Fraction(1, 10**14))
    assert Fraction(stated.exact.mu_squared) == part.mu_squared
    half = statement.gaussian(Concentrated(Fraction(1, 4), Fraction(0)))
    assert half
    told = {"mu": 0.5, "rho": 0.125, "delta_singletons": 0, "exact": {"mu_squared": "1/4"}}
    assert half.model_dump(mode="json") == told
    assert statement.gaussian(None) is None


@pytest.mark.parametrize("x", [Fraction(2), Fraction(1, 3), Fraction(10**30 + 1), Fraction(1, 10**12)])
def test_a_root_is_never_below(x: Fraction) -> None:
    assert x <= sqrt_above(x) ** 2 <= x * (1 + Fraction(1, 10**60))


@pytest.mark.parametrize("times", [0, 1, 2, 7, 1000])
def test_a_power_is_never_above(times: int) -> None:
    x = 1 - Fraction(1, 3_000_000)
    assert 0 <= x**times - power_below(x, times) < Fraction(1, 10**80)


# --- what they claim ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(1616, 1000), Fraction(3231, 1000), Fraction(20)])
@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(4)])
def test_the_divergence_of_a_drawn_table_is_that_of_rho(sigma: Fraction, order: Fraction) -> None:
    """Where both worlds can give an outcome. At whole orders the bound is reached, at others it may be missed."""
    table = noise.discrete_gaussian(sigma**2)
    weights = [Decimal(weight) for weight in table.weights]
    with localcontext() as context:
        context.prec = 50
        alpha = Decimal(order.numerator) / Decimal(order.denominator)
        terms = (p**alpha * q ** (1 - alpha) for p, q in pairwise(weights))
        divergence = float((sum(terms, Decimal(0)) / table.total).ln() / (alpha - 1))
    bound = float(order * part_of((Gaussian(sigma, 20),), ADD_REMOVE).rho)
    assert divergence <= bound * (1 + 1e-9)
    if order.denominator == 1 and sigma > 1:
        assert divergence >= bound * (1 - 1e-9)


def converted(rho: float, epsilon: float) -> float:
    """δ at ε of ρ-zCDP (Canonne, Kamath and Steinke 2020, Section 2.3), at the best of many orders."""
    orders = (1 + step / 100 for step in range(1, 3000))
    return exp(min((a - 1) * (a * rho - epsilon + log1p(-1 / a)) - log(a) for a in orders))


@pytest.mark.parametrize("exposure", [REPLACE, ADD_REMOVE, Exposure("replace", 3)])
def test_the_accountant_finds_no_more_than_rho_and_singletons_allow(exposure: Exposure) -> None:
    part, cells = part_of(OPAL, exposure), [mechanism.cells for mechanism in OPAL]
    apart, rho = float(part.delta_singletons), float(part.rho)
    for epsilon in (1.0, 2.0, 4.0, 8.0, 12.0):
        assert accountant.delta(cells, epsilon, exposure) <= (apart + converted(rho, epsilon)) * (1 + 1e-6)
    wrong = [apart + converted(rho / 2, epsilon) for epsilon in (1.0, 2.0, 4.0)]
    assert any(
        accountant.delta(cells, epsilon, exposure) > bound
        for epsilon, bound in zip((1.0, 2.0, 4.0), wrong, strict=True)
    )
    assert accountant.delta(cells, 60.0, exposure) == pytest.approx(apart, rel=1e-6)  # all that ρ does not cover


def test_mu_is_no_claim_for_discrete_noise() -> None:
    """NOTES §5: at σ = 2.285, twelve cells, the discrete Gaussian has a larger δ(8) than μ-GDP."""
    part = part_of((Gaussian(Fraction(2285, 1000), 13),) * 6, REPLACE)
    mu, cells = float(part.mu), [Gaussian(Fraction(2285, 1000), 60).cells] * 6
    assert gaussian_delta(8.0, mu) == pytest.approx(7.376e-7, rel=1e-3)
    assert accountant.delta(cells, 8.0, REPLACE) == pytest.approx(7.432e-7, rel=1e-3)


def gaussian_delta(epsilon: float, mu: float) -> float:
    scipy_stats = pytest.importorskip("scipy.stats")
    below = scipy_stats.norm.cdf
    return float(below(mu / 2 - epsilon / mu) - (1 + expm1(epsilon)) * below(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(1616, 1000), Fraction(20), Fraction(500)])
def test_a_table_is_as_near_to_the_discrete_gaussian_as_its_sum_tells(sigma: Fraction) -> None:
    table = noise.discrete_gaussian(sigma**2)
    missing = 1 - Fraction(table.total, noise.WORDS)
    with localcontext() as context:
        context.prec = 60
        twice = Decimal((2 * sigma**2).numerator) / Decimal((2 * sigma**2).denominator)
        ideal = [(-Decimal(k * k) / twice).exp() for k in range(3 * table.last)]
        total = 2 * sum(ideal) - 1
        drawn = [Decimal(weight) / table.total for weight in table.weights[table.last :]]
        drawn += [Decimal(0)] * (len(ideal) - len(drawn))
        apart = [abs(mass / total - other) for mass, other in zip(ideal, drawn, strict=True)]
        distance = Fraction((2 * sum(apart) - apart[0]) / 2)
    assert distance <= missing + Fraction(1, 10**20)
    assert missing <= 24 * max(sigma, Fraction(1)) / noise.WORDS  # so below 1e-13 for the widest that is made


# --- where it is said ---------------------------------------------------------------------------------------------


def opal_manifest(mechanism: str, **changes: str) -> tuple[Plan, dict[str, Any]]:
    total = {old: new.replace("{}", mechanism) for old, new in TOTAL.items()}
    plan = Plan.parse(opal_text(**total, **changes), base=Path("nowhere"))
    return plan, statement.manifest(plan, TODAY, {}).as_json


def findings(manifest: dict[str, Any]) -> set[tuple[str, str]]:
    read = Manifest.read(json.loads(json.dumps(manifest)))
    return {(each.code, each.place) for each in manifests.promise_findings(read, manifests.mechanisms(read)[0])}


TAMPERED: dict[str, Callable[[dict[str, Any]], object]] = {
    "mu": lambda part: part.update(mu=1.5),
    "rho": lambda part: part.update(rho=1.1),
    "singletons": lambda part: part.update(delta_singletons=0),
    "exact": lambda part: part["exact"].update(mu_squared="2"),
}


def test_rho_is_recomputed_by_verify() -> None:
    _, sound = opal_manifest("gaussian")
    assert not findings(sound)
    differs = {("figure-differs", "privacy.json, gaussian")}
    for change in TAMPERED.values():
        tampered = json.loads(json.dumps(sound))
        change(tampered["gaussian"])
        assert findings(tampered) == differs
    assert findings({**sound, "gaussian": None}) == differs
    _, other = opal_manifest("laplace")
    assert other["gaussian"] is None
    assert findings({**other, "gaussian": sound["gaussian"]}) == differs


def test_rho_is_in_the_readme_and_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    part = part_of(tuple(opal_manifest("gaussian")[0].guarantee.mechanisms.values()), REPLACE)
    said = f"rho = {rounded_up(part.rho)}. Continuous noise of the same width would have mu = {rounded_up(part.mu)}."
    for mechanism in ("gaussian", "laplace"):
        plan, _ = opal_manifest(mechanism)
        stated = statement.manifest(plan, TODAY, {})
        console.show_cost(Console(width=1000), plan, statement.cost_in(stated))
        texts = (readme(stated, signed=False), capsys.readouterr().out)
        assert [said in text for text in texts] == [mechanism == "gaussian"] * 2
