"""ArangoDB's error numbers, the HTTP status that each travels under, and the exception that carries one.

Source: python-arango's table of numbers, and for 400 and 404 the server's mapping to response codes as
far as it could be read. The conflicts (409, 412) and the 500 for a number outside the mapping are
from memory of the server, not from a look at it. 11 is 401 here, as refused credentials are answered.
"""

from typing import Final

INTERNAL: Final = 4
BAD_PARAMETER: Final = 10
FORBIDDEN: Final = 11
TYPE_ERROR: Final = 17
HTTP_BAD_PARAMETER: Final = 400
HTTP_UNAUTHORIZED: Final = 401
HTTP_NOT_FOUND: Final = 404
HTTP_METHOD_NOT_ALLOWED: Final = 405
CORRUPTED_JSON: Final = 600
CONFLICT: Final = 1200
DOCUMENT_NOT_FOUND: Final = 1202
DATA_SOURCE_NOT_FOUND: Final = 1203
DUPLICATE_NAME: Final = 1207
UNIQUE_CONSTRAINT_VIOLATED: Final = 1210
DATABASE_NOT_FOUND: Final = 1228
USE_SYSTEM_DATABASE: Final = 1230
COLLECTION_TYPE_MISMATCH: Final = 1237
QUERY_PARSE: Final = 1501
QUERY_EMPTY: Final = 1502
NUMBER_OUT_OF_RANGE: Final = 1504
VARIABLE_REDECLARED: Final = 1511
VARIABLE_NAME_UNKNOWN: Final = 1512
FUNCTION_NAME_UNKNOWN: Final = 1540
FUNCTION_ARGUMENT_NUMBER_MISMATCH: Final = 1541
FUNCTION_ARGUMENT_TYPE_MISMATCH: Final = 1542
INVALID_REGEX: Final = 1543
BIND_PARAMETERS_INVALID: Final = 1550
BIND_PARAMETER_MISSING: Final = 1551
BIND_PARAMETER_UNDECLARED: Final = 1552
BIND_PARAMETER_TYPE: Final = 1553
INVALID_ARITHMETIC_VALUE: Final = 1561
DIVISION_BY_ZERO: Final = 1562
ARRAY_EXPECTED: Final = 1563
COLLECTION_USED_IN_EXPRESSION: Final = 1568
INVALID_AGGREGATE_EXPRESSION: Final = 1574
COMPILE_TIME_OPTIONS: Final = 1575
CURSOR_NOT_FOUND: Final = 1600
GRAPH_NOT_FOUND: Final = 1924

_STATUS: Final[dict[int, int]] = {
    **dict.fromkeys(
        (
            BAD_PARAMETER,
            TYPE_ERROR,
            HTTP_BAD_PARAMETER,
            CORRUPTED_JSON,
            COLLECTION_TYPE_MISMATCH,
            QUERY_PARSE,
            QUERY_EMPTY,
            NUMBER_OUT_OF_RANGE,
            VARIABLE_REDECLARED,
            VARIABLE_NAME_UNKNOWN,
            FUNCTION_NAME_UNKNOWN,
            FUNCTION_ARGUMENT_NUMBER_MISMATCH,
            FUNCTION_ARGUMENT_TYPE_MISMATCH,
            INVALID_REGEX,
            BIND_PARAMETERS_INVALID,
            BIND_PARAMETER_MISSING,
            BIND_PARAMETER_UNDECLARED,
            BIND_PARAMETER_TYPE,
            INVALID_ARITHMETIC_VALUE,
            DIVISION_BY_ZERO,
            ARRAY_EXPECTED,
            COMPILE_TIME_OPTIONS,
        ),
        400,
    ),
    FORBIDDEN: 401,
    HTTP_UNAUTHORIZED: 401,
    USE_SYSTEM_DATABASE: 403,
    **dict.fromkeys(
        (
            HTTP_NOT_FOUND,
            DOCUMENT_NOT_FOUND,
            DATA_SOURCE_NOT_FOUND,
            DATABASE_NOT_FOUND,
            CURSOR_NOT_FOUND,
            GRAPH_NOT_FOUND,
        ),
        404,
    ),
    HTTP_METHOD_NOT_ALLOWED: 405,
    DUPLICATE_NAME: 409,
    UNIQUE_CONSTRAINT_VIOLATED: 409,
    CONFLICT: 412,
}


class ServerError(Exception):
    """What the server answers instead of a result: `number` is `errorNum`, `status` the HTTP status."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number
        self.message = message
        self.status = _STATUS.get(number, 500)


def unsupported(what: str) -> ServerError:
    """For AQL that a real server understands and the stand-in does not: refused, never misread."""
    return ServerError(QUERY_PARSE, f"AQL: {what} is not supported by the stand-in (while parsing)")
