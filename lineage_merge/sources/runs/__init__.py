"""Which runs of a job count, and what its newest one did: the same for every source that tells runs."""
