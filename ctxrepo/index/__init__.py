"""What a store holds, findable in a millisecond: a cache beside the git directory that may be deleted at any time."""
