"""Rows for Spark, good and bad, and what must be the same of two panels, one of them in the lake."""

import json

import numpy as np
import pyarrow as pa


def with_gaps(panel, seed):
    """The panel with some readings lost and some turned negative."""
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(panel.readings.shape) < 0.02, -1, 1)
    return panel.following(
        panel.readings * signs, present=rng.random(panel.readings.shape) < 0.97, first_step=panel.first_step
    )


def rows_of(panel):
    """The rows of a panel as a table: household, time, value, and a column a partition."""
    start = np.datetime64(panel.grid.anchor, "us")
    times = start + (panel.first_step + np.arange(panel.n_steps)) * np.timedelta64(panel.grid.minutes, "m")
    each = np.repeat(np.arange(panel.n_households), panel.n_steps)
    return pa.table(
        {
            "household": pa.array(panel.households).take(pa.array(each)),
            "time": pa.array(np.tile(times, panel.n_households)),
            "value": pa.array(panel.readings.T.ravel(), mask=~panel.present.T.ravel()),
            **{name: pa.array(column).take(pa.array(each)) for name, column in panel.groups.items()},
        }
    )


def same_panel(here, there):
    """Two panels that differ in nothing but where they lie."""
    assert there.households == here.households
    assert there.groups == here.groups
    assert (there.grid, there.first_step, there.calendar) == (here.grid, here.first_step, here.calendar)
    assert there.domain == here.domain
    np.testing.assert_array_equal(there.readings, here.readings)
    np.testing.assert_array_equal(there.present, here.present)


def account(panel):
    """An import's account, but for the places of rows, which a Spark frame has not, and the name of the source."""
    found = json.loads(json.dumps(panel.quality.to_json()))
    return {**found, "places": {}, "notes": found["notes"][1:]}


def changed(rows, column, at, value, kind=None):
    """The rows with another value at one place."""
    values = rows[column].to_pylist()
    values[at] = value
    return rows.set_column(rows.schema.get_field_index(column), column, pa.array(values, kind))


BAD = {
    "text for a number": lambda rows: changed(
        rows.set_column(2, "value", rows["value"].cast(pa.string())), "value", 77, "a lot"
    ),
    "no household": lambda rows: changed(rows, "household", 77, None),
    "no such time": lambda rows: changed(
        rows.set_column(1, "time", rows["time"].cast(pa.string())), "time", 77, "2022-13-77"
    ),
    "two groups": lambda rows: changed(rows, "suburb", 77, "Elsewhere"),
    "two values for one time": lambda rows: pa.concat_tables([rows, changed(rows, "value", 77, 4321)[77:78]]),
    "nothing left": lambda rows: changed(rows[:200], "value", 0, 123456, pa.int64()).set_column(
        2, "value", pa.array([10**8] * 200)
    ),
}
