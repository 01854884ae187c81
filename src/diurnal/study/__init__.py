"""Study: beside the way, for papers, comparisons and attacks; nothing here reaches a release."""
