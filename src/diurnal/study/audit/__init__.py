"""Audit: measure the privacy instead of believing it.

    transcripts   households in two neighbouring data sets, as hard to hide as can be, aboard the shipped curator,
                  restarted, corrected, asked again; what must hold of its rows and of a live store
    exact         worst cases in closed form, by the law of the noise
    statistic     numbers of transcripts: lower bounds for epsilon, what they would be without noise, its fit
    measured      these bounds, and those of the paper's Corollary 1 as printed and of its repair, under one attack
    refusals      what must be refused, tried
    audit         all of these on a plan, and a verdict
    attacks       what somebody could learn about a home; these break no promise

Nothing here reaches a release: canaries are made up, and no switch turns noise off.
"""
