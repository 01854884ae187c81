"""Words: sentences that several levels share."""

from __future__ import annotations

PATTERN_CHANGE = (
    "one household's periodic component changes: each of its readings moves by an amount that depends on the slot "
    "only, the same in every cycle of the history and of the reports, and its variations stay"
)

NARROW = (
    "A change of the periodic component must leave all readings in the domain. Where they cannot be negative, a "
    "home's usual cycle can be lowered by no more than its smallest reading of each slot: {what} protects little "
    "more than standby load."
)
"""How few households are neighbours by their periodic component."""

MEMBERSHIP = (
    "Membership is not protected, nor which readings are missing or late: both are treated as if they were public. "
    "The size of the roster is public."
)
TOGETHER = (
    "k households that change together cost k times a pure epsilon and k^2 times the zCDP; what is read at a delta "
    "costs more than k times."
)
OTHERS = "Every other plan over these households adds a loss of its own."
"""What a plan does not count."""
ROSTER = (
    "What bounds clip of a household is in no stated deviation, and nobody outside is told.",
    MEMBERSHIP,
    TOGETHER,
    OTHERS,
)
"""What no level with a profile promises."""

# The same for everybody, in short.
USUAL = (
    "Whoever sees all these reports, for ever, can tell only as well as {allows} one usual {cycle} of a "
    "household from the same with its readings shifted, slot by slot and alike in every {cycle}"
)
NOT_A_LIFE = "It is the privacy of a household's reported {cycle}, not of a household or a way of life: {larger}"
UNSTATED = (
    "What bounds clip of a household, and what missing readings or too little history of it do, is in no stated "
    "error."
)
WHO = "Who is on the roster is not hidden, nor which readings are missing or late."
MANY = "Households that change together cost as many times as much, or more."
