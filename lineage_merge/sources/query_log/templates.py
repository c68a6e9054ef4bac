"""Statements without their literals: personal data stays here, and equal statements are parsed once. Pure."""

import hashlib
import re
from collections.abc import Iterator

from lineage_merge.sources.query_log.pivot_names import Token, naming_values
from lineage_merge.sources.query_log.statement import Template

_PIECE = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<string>[eEnN]?'(?:[^'\\]|\\.|'')*(?:'|\Z))
    | (?P<body>\$(?P<tag>(?:[A-Za-z_]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<quoted>"(?:[^"]|"")*(?:"|\Z)|`[^`]*(?:`|\Z))
    | (?P<word>[^\W\d][\w$]*)
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    | (?P<space>\s+)
    | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# What the shortcut of `Templates` leaves to `template_of`: unusual quotes, and literals that remain. The
# words are searched for first, which takes a tenth of the time.
_UNUSUAL = ("\\", "$", "://", "search_path", "pivot")
_SIZES = ("char", "dec", "numeric", "float", "time", "var")
_SIZE = re.compile(r"\b(?:\w*char|character|varying|dec(?:imal)?|numeric|float|time|timestamp|var\w+)\s*\(")
_POSITION = re.compile(
    r"\bby\b.*[\s,]\d{1,4}\s*(?:[,;)]|\Z|asc\b|desc\b|nulls\b|having\b|limit\b)", re.DOTALL
)
_LITERAL = re.compile(
    r"""(?P<same>"[^"]*"|/\*.*?\*/|--[^\n]*)|'(?:[^']|'')*'|(?<![\w$])\d+(?:\.\d*)?""", re.DOTALL
)
_READS = re.compile(
    r"(?:\s*(?:--[^\n]*\n|/\*.*?\*/))*\s*\(*\s*(?:select|with|show|explain|fetch)\b",
    re.IGNORECASE | re.DOTALL,
)
_MAY_WRITE = re.compile(r"\b(?:into|insert|update|delete|merge)\b", re.IGNORECASE)
_KEEPS_PATHS = re.compile(r"\s*(?:copy|unload|create|alter)\b", re.IGNORECASE)
_UNLOADS = re.compile(r"\s*unload\b", re.IGNORECASE)
_SETS_PATH = re.compile(r"\s*set\s+(?:session\s+|local\s+)?search_path\b", re.IGNORECASE)
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^?@\s']+\Z")
_OPTIONS = frozenset({"auto", "auto ignorecase", "noshred"})
_SIZED = frozenset(
    """binary bpchar char character decimal dec float nchar numeric nvarchar time timestamp varbinary varbyte
    varchar varying""".split()
)
_ENDS_LIST = frozenset(
    "except fetch from having intersect limit offset qualify rows select union where".split()
)
_MAX_POSITION = 4  # digits of a position in ORDER BY
_SAME_VALUES = re.compile(r"\bin\s*\(\s*('\?'|\?)(?:\s*,\s*(?:'\?'|\?))+\s*\)", re.IGNORECASE)
_ROW = r"\(\s*(?:(?:'\?'|-?\?|null|default|true|false)(?:\s*,\s*|\s*(?=\))))+\)"
_SAME_ROWS = re.compile(rf"(\bvalues\s*{_ROW})(?:\s*,\s*{_ROW})+", re.IGNORECASE)
_AROUND_SYMBOLS = re.compile(r"\s*([^\w\s\"'`$])\s*")
_PATHS = re.compile(r"'[A-Za-z][A-Za-z0-9+.-]*://[^']*'")
_CACHED = 20_000
READS = Template("", "")


class Templates:
    """Makes templates; statements that differ only in literals take the short path.

    `quotes`: the dialect writes strings in double quotes.
    """

    def __init__(self, *, quotes: bool = False) -> None:
        self._quotes = quotes
        self._by_skeleton: dict[str, Template] = {}

    def of(self, text: str) -> Template:
        """Return the template of a statement; an empty one if it only reads."""
        if _READS.match(text) and not _MAY_WRITE.search(text):
            return READS
        if self._keeps_literals(text):
            return self._cached(text, text)
        return self._cached(_LITERAL.sub(_skeleton, text), text)

    def _keeps_literals(self, text: str) -> bool:
        """Return whether the template may depend on more than the text without its literals."""
        lower = text.lower()
        if any(each in lower for each in _UNUSUAL) or (self._quotes and '"' in text):
            return True
        if any(each in lower for each in _SIZES) and _SIZE.search(lower):
            return True
        return "by" in lower and _POSITION.search(lower) is not None

    def _cached(self, key: str, text: str) -> Template:
        found = self._by_skeleton.get(key)
        if found is None:
            if len(self._by_skeleton) >= _CACHED:
                self._by_skeleton.clear()
            found = self._by_skeleton[key] = template_of(text, quotes=self._quotes)
        return found


def _skeleton(found: re.Match[str]) -> str:
    return found["same"] or "?"


def template_of(text: str, *, quotes: bool = False) -> Template:
    """Return a statement without literals, comments and layout."""
    comments: list[str] = []
    pieces = _without_literals(text, comments, quotes=quotes)
    plain = "".join(_single_spaces(pieces)).strip().rstrip("; ")
    plain = _SAME_ROWS.sub(r"\1", _SAME_VALUES.sub(r"in (\1)", plain))
    same = _AROUND_SYMBOLS.sub(r"\1", _PATHS.sub("'?'", plain)).lower()
    return Template(plain, hashlib.sha256(same.encode()).hexdigest()[:16], tuple(comments))


def _single_spaces(pieces: Iterator[str]) -> Iterator[str]:
    before = ""
    for piece in pieces:
        if piece != " " or before != " ":
            yield piece
        before = piece


def _without_literals(text: str, comments: list[str], *, quotes: bool) -> Iterator[str]:
    keeps_paths, keeps_strings = _begins(_KEEPS_PATHS, text), _begins(_SETS_PATH, text)
    is_unload = _begins(_UNLOADS, text)
    before = ""
    is_list = False
    names = naming_values(_tokens(text, quotes=quotes)) if "pivot" in text.lower() else frozenset()
    sized: list[bool] = []
    for found in _PIECE.finditer(text):
        kind, piece = found.lastgroup, found[0]
        if kind == "tag":
            kind = "body"
        if kind == "comment":
            comments.append(_inner_comment(piece))
            yield " "
            continue
        if kind == "space":
            yield " "
            continue
        if kind == "quoted" and quotes and piece.startswith('"'):
            kind = "string"
        if kind == "string" and is_unload and before == "(":
            yield _quoted(template_of(_unquoted(piece)).text)
        elif kind == "body":
            inner = _between_dollars(piece)
            yield _quoted(template_of(inner).text) if is_unload and before == "(" else "'?'"
        elif kind == "string":
            value = piece.strip("'\"")
            is_path = keeps_paths and (_PATH.match(value) or value.lower() in _OPTIONS)
            yield piece if keeps_strings or is_path or found.start() in names else "'?'"
        elif kind == "number":
            is_position = before == "by" or (is_list and before == ",")
            is_size = bool(sized) and sized[-1]
            yield piece if is_size or (is_position and len(piece) <= _MAX_POSITION) else "?"
        else:
            yield piece
        word = piece.lower() if kind in ("word", "symbol") else kind or ""
        if word == "by" and before in ("group", "order"):
            is_list = True
        elif word in _ENDS_LIST:
            is_list = False
        elif word == "(":
            sized.append(before in _SIZED)
        elif word == ")" and sized:
            sized.pop()
        before = word


def _tokens(text: str, *, quotes: bool) -> Iterator[Token]:
    for found in _PIECE.finditer(text):
        kind, piece = found.lastgroup or "", found[0]
        if kind not in ("comment", "space"):
            is_string = kind == "quoted" and quotes and piece.startswith('"')
            yield Token("string" if is_string else kind, piece, found.start())


def _begins(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a statement begins with a pattern after its comments."""
    at = 0
    while comment := _LEADING_COMMENT.match(text, at):
        at = comment.end()
    return pattern.match(text, at) is not None


_LEADING_COMMENT = re.compile(r"\s*(?:--[^\n]*\n?|/\*.*?\*/)", re.DOTALL)


def _inner_comment(piece: str) -> str:
    return (
        piece.removeprefix("--").strip() if piece.startswith("--") else piece[2:].removesuffix("*/").strip()
    )


def _unquoted(piece: str) -> str:
    return re.sub(r"''|\\(.)", lambda found: found[1] or "'", piece[1:-1], flags=re.DOTALL)


def _between_dollars(piece: str) -> str:
    end = piece.index("$", 1) + 1
    return piece[end:-end] if len(piece) >= 2 * end else piece[end:]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
