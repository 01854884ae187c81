"""What an import says became of the rows."""

from datetime import timedelta

import diurnal as dn
from halfhours import START, frame, half_hours, make


def test_a_unit_against_the_columns_name_is_noted():
    """What is read in another unit than its column is named for is told; what agrees is not."""
    rows = frame(half_hours(4, 400.0))
    for unit, told in (("Wh", True), ("kWh", False)):
        notes = dn.panel(dn.read(rows, unit=unit, minutes=30), zone="UTC", domain=(0, 10**6)).quality.notes
        assert any("though its name says kWh" in note for note in notes) is told


def test_quality_knows_who_starts_late_and_who_stops():
    """Households that start or stop more than a day from the panel's ends, and all-zero days, are counted."""
    rows = half_hours(240) + half_hours(96, home="b") + half_hours(100, 0.0, "c", start=START + timedelta(days=2))
    panel = make(rows)
    account = panel.quality
    assert (account.late, account.stopped, account.silent, account.zero_days) == (1, 1, 0, 2)
    assert account.gaps == 144 + 140
    assert "set aside" not in account.table()
    assert account.to_json()["households"] == 3
