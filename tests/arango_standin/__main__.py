"""The stand-in as a process of its own, to be killed and started again.

`python -m tests.arango_standin PORT FOLDER`: each folder in FOLDER is a database, exported as
one file a collection. The password is `secret`. Prints a line when it listens, and runs until its
standard input ends.
"""

import sys
from pathlib import Path

from tests.arango_standin import ArangoStandin, read_folder


def main() -> None:
    """Serve until killed."""
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    databases = {each.name: read_folder(each) for each in sorted(folder.iterdir())}
    with ArangoStandin(databases, port=port) as standin:
        sys.stdout.write(f"listening on {standin.url}\n")
        sys.stdout.flush()
        sys.stdin.read()  # the parent process closes it when it ends


if __name__ == "__main__":
    main()
