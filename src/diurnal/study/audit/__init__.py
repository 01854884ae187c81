"""Audit: measure the privacy instead of believing it.

    canary        households in two neighbouring data sets, as hard to hide as can be
    life          the shipped curator with canaries aboard, restarted, corrected, asked again: transcripts
    exact, laws   worst cases in closed form, by the law of the noise
    expectation   what transcripts would be without noise, and so what their noise was
    measured      lower bounds for epsilon: `statistic` makes numbers of transcripts, `bound` counts them
    facts, bare, fit, refusals, running
                  what must hold without exception: of rows, of sums, of noise, of the guard, of a live store
    audit         all of these on a plan, and a verdict
    attacks       what somebody could learn about a home; these break no promise
    corollary     the paper's Corollary 1 as printed, and its repair, under one attack

Nothing here reaches a release: canaries are made up, and no switch turns noise off.
"""
