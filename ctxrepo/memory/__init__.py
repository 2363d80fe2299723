"""Private memory: one fact, one file, in its owner's own repository."""
