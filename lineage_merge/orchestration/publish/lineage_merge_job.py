"""The script of the Glue or EMR job: `lineage-merge publish` puts it into S3 beside the package."""

import sys

from lineage_merge.orchestration.cluster_entrypoint import main

if __name__ == "__main__":
    main(sys.argv[1:])
