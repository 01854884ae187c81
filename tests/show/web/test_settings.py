"""What an operator decides about a service."""

from diurnal.show.web.settings import Limits, Settings


def test_there_is_a_connection_for_each_place():
    """Who is answered, who has a place of their own and who listens has a connection, and nobody else."""
    assert Limits(at_once=3, kept=20, listeners=100).connections == 123


def test_a_service_that_is_told_nothing_takes_nothing_on_trust():
    """Without a word from the operator there are no tokens, caps or panel, and units are not trusted."""
    plain = Settings(store="city.db")
    assert (plain.tokens, plain.budget, plain.panel, plain.open_data) == (None, None, None, None)
    assert not plain.trust_units
    assert plain.limits == Limits()
