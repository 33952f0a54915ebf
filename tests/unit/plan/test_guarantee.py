from __future__ import annotations

from tapveil import Plan
from tapveil.privacy.mechanisms import Gaussian, StabilityHistogram


def test_a_copy_of_a_plan_has_the_noise_that_it_states() -> None:
    plan = Plan.preset("opal")
    assert all(isinstance(each, StabilityHistogram) for each in plan.guarantee.mechanisms.values())
    copy = plan.model_copy(update={"privacy": plan.privacy.model_copy(update={"mechanism": "gaussian"})})
    assert all(isinstance(each, Gaussian) for each in copy.guarantee.mechanisms.values())
    fewer = plan.model_copy(update={"table": plan.table[:2]})
    assert list(fewer.guarantee.mechanisms) == [table.name for table in plan.table[:2]]
