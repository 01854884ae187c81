"""Queries: what is asked of the database at every report, written once, so that it is also compiled once.

What is compiled is kept. So values that are private come with a statement when it is run, here and wherever else
the database is asked, and are no part of it.
"""

from __future__ import annotations

import sqlalchemy as sa

from diurnal.curator import schema

_PLAN = sa.bindparam("plan", type_=sa.Integer)
_STEPS = sa.bindparam("first", type_=sa.BigInteger), sa.bindparam("last", type_=sa.BigInteger)
_IN_STEPS = schema.rows.c.plan == _PLAN, schema.rows.c.step.between(*_STEPS)

FACTS = sa.select(schema.facts)
"""Everything that is known about the store."""

CALENDAR = sa.select(schema.calendar.c.step)
"""Steps that are never reported."""

TOKENS = sa.select(schema.plans.c.token).order_by(schema.plans.c.number)
"""Every plan, by its token."""

TOKEN = sa.select(schema.plans.c.token).where(schema.plans.c.key == sa.bindparam("key", type_=sa.Text))
"""A plan by its hash."""

CHANGE_PLAN = schema.plans.update().where(schema.plans.c.number == sa.bindparam("at", type_=sa.Integer))
"""A started plan becomes another; what it is then comes with it."""

PUBLISHED = sa.select(schema.rows.c.step).where(*_IN_STEPS, schema.rows.c.place == 0)
"""Which steps have rows, from one to another."""

ROWS = (
    sa.select(schema.rows.c.step, schema.rows.c.value)
    .where(*_IN_STEPS)
    .order_by(schema.rows.c.step, schema.rows.c.place)
)
"""Rows, from one step to another."""

NOISE = sa.select(schema.noise).where(
    schema.noise.c.plan == _PLAN, schema.noise.c.cycle == sa.bindparam("cycle", type_=sa.BigInteger)
)
"""The noise of a cycle."""

OPEN_NOISE = (
    sa.select(schema.noise.c.cycle)
    .where(schema.noise.c.plan == _PLAN, schema.STILL_OPEN)
    .order_by(schema.noise.c.cycle)
)
"""Cycles whose noise is not erased."""

NOT_VOUCHED_FOR = sa.select(schema.noise).where(
    schema.noise.c.plan == _PLAN, schema.STILL_OPEN, schema.noise.c.event == 0
)
"""Noise that no event commits to yet."""

HAS_TAKEN = sa.select(schema.taken.c.plan).where(
    schema.taken.c.plan == _PLAN, schema.taken.c.digest == sa.bindparam("name", type_=sa.Text)
)
"""Whether something was taken."""

CONTENT_CYCLES = (
    sa.select(schema.contents.c.first, schema.contents.c.last).where(schema.contents.c.plan == _PLAN).distinct()
)
"""Of which cycles, from and to, there are readings in batches of which it is known what was in them."""

CONTENT = sa.select(schema.contents.c.content, schema.contents.c.others).where(
    schema.contents.c.plan == _PLAN, schema.contents.c.name == sa.bindparam("name", type_=sa.Text)
)
"""What was in a batch."""

COUNT_OTHERS = schema.contents.update().where(
    schema.contents.c.plan == sa.bindparam("at_plan", type_=sa.Integer),
    schema.contents.c.name == sa.bindparam("at_name", type_=sa.Text),
)
"""How often something else has come under the name of a batch."""

LAST_EVENT = sa.select(schema.ledger).order_by(schema.ledger.c.number.desc()).limit(1)
"""The last event of the ledger."""

EVENT = sa.select(schema.ledger).where(schema.ledger.c.number == sa.bindparam("number", type_=sa.BigInteger))
"""An event by its number."""
