"""Script of the Glue or EMR job, which `lineage-merge publish` uploads to S3 with the package."""

import sys

from lineage_merge.orchestration.cluster_entrypoint import main

if __name__ == "__main__":
    main(sys.argv[1:])
