"""Passwords, tokens and keys masked in text, before it becomes an id, a property or a message.

Three places call it, and every text passes one of them: `naming` (each address before it is named),
`records.row` (each text of a record) and `errors.LineageMergeError` (each message). The type `Redacted`
marks what has passed. Imports nothing else of the package, so that every module can.
"""

from lineage_merge.infra.redaction.parameters import names_secret
from lineage_merge.infra.redaction.spans import MASK
from lineage_merge.infra.redaction.text import Redacted, redact, redact_ambiguous, redact_sql
from lineage_merge.infra.redaction.userinfo import CONTAINER_SCHEMES

__all__ = [
    "CONTAINER_SCHEMES",
    "MASK",
    "Redacted",
    "names_secret",
    "redact",
    "redact_ambiguous",
    "redact_sql",
]
