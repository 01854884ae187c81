"""What everybody may be told."""

import csv
import io
import json

from diurnal.curator.release import COLUMNS
from diurnal.show.web.models import answers


def test_a_row_has_the_columns_of_a_release():
    """Every released column is a field of a row, in its order and with its description, and there is no other."""
    told = answers.Row.model_json_schema()["properties"]
    assert [(name, about["description"]) for name, about in told.items()] == [
        (column.name, column.description) for column in COLUMNS
    ]


def test_examples_of_rows_agree():
    """The examples of rows as CSV and as events have the row that JSON has."""
    (line,) = csv.DictReader(io.StringIO(answers.LINES))
    assert line == {name: str(value) for name, value in answers.ROW.items()}
    (event,) = [line for line in answers.EVENTS.splitlines() if '"rows"' in line]
    assert json.loads(event.removeprefix("data: "))["rows"] == [answers.ROW]
