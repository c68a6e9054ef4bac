"""Chaos: whole merges that are killed, cut off and crowded at random moments, and the graph after them.

::

    python -m tests.chaos --rounds 100 --seed 7

`draw` says what happens in a round, `pipelines` what is merged, `world` holds the servers, `rounds` and
`at_once` are the two kinds of rounds. Linux only: processes are found in /proc.
"""
