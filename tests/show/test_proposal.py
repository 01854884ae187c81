"""A plan made of what was asked for."""

import pytest

import diurnal as dn
import services
from diurnal.show.plan_request import PlanRequest
from diurnal.show.proposal import propose


@pytest.mark.parametrize(("asked", "query"), [({}, dn.Mean()), ({"query": "sum"}, dn.Sum())])
def test_a_request_becomes_a_plan(asked, query):
    """With what was asked for, the same for all who ask."""
    request = PlanRequest(epsilon="2", history=services.HISTORY, minimum_group=2, **asked)
    found = propose(request, services.panel(), domain=(0, 9 * 10**5))
    assert (found.plan.query, found.plan.history, found.plan.minimum_group) == (query, services.HISTORY, 2)
