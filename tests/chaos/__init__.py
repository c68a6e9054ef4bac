"""Random fault injection: whole merges are killed, disconnected or run concurrently.

::

    python -m tests.chaos --rounds 100 --seed 7

`draw` says what happens in a round, `pipelines` what is merged, `servers` holds the servers, `rounds` and
`at_once` are the two kinds of rounds. Linux only: processes are found in /proc.
"""
