"""awswrangler's Gremlin writer for load.py, in a process with an environment of its own.

    python -m venv /somewhere && /somewhere/bin/pip install 'awswrangler[gremlin]'
    python benchmarks/load.py --awswrangler /somewhere/bin/python

awswrangler's pyarrow and pandas need not go together with those of Spark. Two things are changed
from outside, neither of which slows it down: it speaks ``wss`` only, and a server of tests has no
certificate; and it sends text without saying of what language, which Neptune parses by its grammar
where Gremlin Server would compile Groovy, so the same grammar (``gremlin-lang``) is asked for.

`to_property_graph` sends a DataFrame as one query, whatever its `batch_size` says (as of 3.17 the
condition is never met), so it is called with as many rows as that is by default.

Reads JSON from standard input (host, port, headers of the connection, nodes, edges, both as lists of rows
with the keys that awswrangler expects), writes the seconds that nodes and edges took.
"""

import json
import sys
import time
from typing import Any
from unittest.mock import patch

_ROWS = 50


def main() -> None:
    import awswrangler.neptune as neptune
    import pandas
    from gremlin_python.driver.client import Client

    given = json.load(sys.stdin)
    submit = Client.submit

    def in_neptunes_grammar(self: Any, message: str) -> Any:
        return submit(self, message, request_options={"language": "gremlin-lang"})

    with (
        patch("awswrangler.neptune._client.WS_PROTOCOL", "ws"),
        patch.object(Client, "submit", in_neptunes_grammar),
    ):
        client = neptune.connect(given["host"], given["port"], iam_enabled=False, region="us-east-1")
        client.read_gremlin("g.inject(1)", headers=given["headers"])  # opens the connection
        taken = []
        for rows in (given["nodes"], given["edges"]):
            parts = [pandas.DataFrame(rows[at : at + _ROWS]) for at in range(0, len(rows), _ROWS)]
            started = time.perf_counter()
            for part in parts:
                neptune.to_property_graph(client, part, batch_size=_ROWS)
            taken.append(time.perf_counter() - started)
    json.dump(taken, sys.stdout)


if __name__ == "__main__":
    main()
