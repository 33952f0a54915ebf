"""A manifest: what it claims can be verified in the form in which it is written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tapveil.privacy.mechanisms import Dictionary
from tapveil.privacy.person import Person, Releases
from tapveil.published.people import claim_of
from tapveil.verification.manifest import _is_loss_of_a_person


@pytest.mark.parametrize("trips", [5, 20])
def test_the_loss_of_a_year_above_a_thousand_is_accepted_as_it_is_written(trips: int) -> None:
    """Above a thousand, three digits are an integer nevertheless."""
    week = Releases("trip", ((Dictionary(Fraction(1), 1), False),) * 4, most=1, days=7)
    person = Person(trips, (week.in_a_year(),), Fraction(0))
    claim, epsilon = claim_of(person), person.epsilon("replace")
    assert epsilon == 2 * 4 * trips * 52
    assert _is_loss_of_a_person(epsilon, person.delta, claim.epsilon_replace, claim.delta)
    assert not _is_loss_of_a_person(epsilon, person.delta, float(epsilon), claim.delta)
