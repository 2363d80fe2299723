"""From a prompt to the few things worth knowing now: search, rank, weigh, fence."""
