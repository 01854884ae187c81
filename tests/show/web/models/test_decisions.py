"""What the custodian may ask for, start and stop."""

import pydantic
import pytest

from diurnal.show.plan_request import WhatIfRequest, asked_fields
from diurnal.show.web.models.decisions import PlanQuestion, StartQuestion


def test_nothing_else_can_be_sent():
    """The service takes the fields of the request alone, and makes the request of them."""
    assert list(PlanQuestion.model_fields) == [field.name for field in asked_fields(WhatIfRequest)]
    assert PlanQuestion(epsilon="1", households=20).request() == WhatIfRequest(epsilon="1", households=20)


@pytest.mark.parametrize("changed", [{"skip": -1}, {"accept_wrose": True}, {"acknowledge": "x" * 129}])
def test_a_start_that_cannot_be_meant_is_refused(changed):
    """A field that there is not, or a value beyond its limits, is not taken for a start without it."""
    assert StartQuestion(plan={}).skip == 0
    with pytest.raises(pydantic.ValidationError):
        StartQuestion(**{"plan": {}, **changed})
