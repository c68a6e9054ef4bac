"""A stand-in for an ArangoDB server, for tests: HTTP on a local port, as python-arango 8 speaks it.

It reads a subset of AQL by a real parser (`aql.lark`, with the server's own precedence) and runs it over
documents in memory. What it does not know it refuses (1501 for syntax, 1540 for a function), so a
query that passes was understood, not guessed. Documents come out in no useful order unless the query
sorts them. `ArangoStandin.requests` records the queries, how many documents went out and how many
were read without an index.

Known to differ, or not to exist here: writing by AQL, transactions, views, named graphs, PRUNE,
shortest paths, array operators (`ANY ==`, `[? ...]`), WINDOW, user-defined functions, several users
and their permissions, `/_api/explain`.

Nothing here was compared with a running server. Requests, and how errors surface, were checked with
python-arango; precedence was taken from the server's grammar; the meaning of values, the numbers that
some refusals carry and the statistics are from the manual as remembered.

What a passing test leaves unproven about a real server: that its optimizer uses an index (here
`scanned_full` counts by a simple rule: an equality, IN or range on a declared attribute, joined by
AND); speed; memory limits and large results; transactions and what a reader sees while Spline
writes; clusters; regular expressions beyond what ICU and Python share; the order of texts outside
ASCII; the wording of messages; differences between versions (this one says 3.11). The fixture
`arango` of `tests/arango_fixtures.py` runs the same tests against a real server when it is given one.
"""

from .dump import read_folder
from .server import ArangoStandin, RecordedRequest
from .store import SPLINE_INDEXES

__all__ = ["SPLINE_INDEXES", "ArangoStandin", "RecordedRequest", "read_folder"]
