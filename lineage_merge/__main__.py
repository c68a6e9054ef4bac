"""``python -m lineage_merge``: the command line."""

from lineage_merge.cli import main

if __name__ == "__main__":
    main(prog_name="lineage-merge")
