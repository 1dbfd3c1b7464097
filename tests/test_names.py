"""Names that editors offer are those of the core's registry."""

from typing import get_args, get_type_hints

import pytest

import malleable as mb
from malleable import policies
from malleable.live.futures import Future
from malleable.objective import KINDS
from malleable.policies import policy_names


@pytest.mark.parametrize("model", ["job", "flow", "tandem", "slotted", "cluster"])
def test_policies(model):
    registry = policy_names(model + "s" * (model in ("job", "flow")))
    assert get_args(getattr(policies, f"{model.title()}Policy")) == registry


def test_objectives():
    meant = {f"{aggregate}:{kind}" for aggregate in ("sum", "max") for kind in KINDS}
    assert set(get_args(policies.ObjectiveName)) == meant


def test_a_future_is_generic_in_what_its_call_returns():
    hints = get_type_hints(mb.Executor.submit)
    assert hints["return"].__origin__ is Future
    assert Future[int].__args__ == (int,)
