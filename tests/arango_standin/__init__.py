"""A stand-in for an ArangoDB server, for tests: HTTP on a local port, as python-arango 8 speaks it.

It reads the AQL that the product sends by a real parser (`aql.lark`, with the server's own precedence) and
runs it over documents in memory. What it does not know it refuses (1501 for syntax, 1540 for a function),
so a query that passes was understood, not guessed: a new query may need a new rule. Documents come out in
no useful order unless the query sorts them. `ArangoStandin.requests` records the queries, how many
documents went out and how many were read without an index.

Nothing here was compared with a running server. Requests, and how errors surface, were checked with
python-arango; precedence was taken from the server's grammar; the numbers that some refusals carry are
from the manual as remembered.

What a passing test leaves unproven about a real server: that its optimizer uses an index (here
`scanned_full` counts by a simple rule: an equality, IN or range of a declared attribute and a constant,
joined by AND); speed; memory limits and large results; transactions and what a reader sees while Spline
writes; clusters; users and their permissions; cursors that expire; the order of texts outside ASCII; the
wording of messages; differences between versions (this one says 3.11). The fixture `arango` of
`tests/arango_fixtures.py` runs the same tests against a real server when it is given one.
"""

from .server import ArangoStandin, RecordedRequest
from .store import SPLINE_INDEXES, read_folder

__all__ = ["SPLINE_INDEXES", "ArangoStandin", "RecordedRequest", "read_folder"]
