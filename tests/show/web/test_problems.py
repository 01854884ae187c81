"""What is refused has one shape, and says what to do."""

import pytest

from diurnal.errors import ReadingsError
from diurnal.show.web.problems import of_error


def test_a_column_that_is_not_there_is_named_without_python():
    """Who sends a body without a value is told of its columns, and not of an argument of the library."""
    error = of_error(ReadingsError("column-unclear", role="value", columns=2, choices="value, kwh"))
    assert error.hint == "Rename the column to one of the recognised names: value, kwh."


@pytest.mark.parametrize("path", ["/v1/streams", "/v1/streams/{}/reports", "/v1/custodian/ledger", "/healthz"])
def test_a_parameter_that_is_not_known_is_refused(path, asked, city):
    """A question with a parameter that its route does not know is not answered as if it had none."""
    _, stream = city
    client, path = asked("custodian"), path.format(stream)
    assert client.get(path).status_code == 200
    refused = client.get(path, params={"from": "2022-07-01", "to": "2022-07-02"})
    assert refused.status_code == 422
    assert refused.json()["code"] == "parameter"
    if path.endswith("/reports"):
        assert "start, stop" in refused.json()["remedy"]
