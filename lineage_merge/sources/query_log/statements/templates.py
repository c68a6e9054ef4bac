"""Statements without their literals: personal data stays here, and equal statements are parsed once. Pure."""

import hashlib
import re
from collections.abc import Iterator

from lineage_merge.infra.redaction import redact_sql
from lineage_merge.sources.query_log.statements.owners import owner_in, owner_of
from lineage_merge.sources.query_log.statements.pivot_names import Token, naming_values
from lineage_merge.sources.query_log.statements.statement import Template

_PIECE = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<string>[eEnN]?'(?:[^'\\]|\\.|'')*(?:'|\Z))
    | (?P<body>\$(?P<tag>(?:[A-Za-z_]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<quoted>"(?:[^"]|"")*(?:"|\Z)|`[^`]*(?:`|\Z))
    | (?P<word>[^\W\d][\w$]*(?:(?:-\w+)+(?=\.[^\W\d]))?)
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    | (?P<space>\s+)
    | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# What the shortcut of `Templates` leaves to `template_of`: quotes by dollars, and strings that may remain.
_REMAINING = ("://", "'auto", "'noshred")
_STRING = r"'(?:[^'\\]|\\.|'')*'"
_NUMBER = r"(?<![\w$])\d+(?:\.\d*)?"
# A position has at most four digits.
_LONG_NUMBER = r"(?<![\w$])(?=[\d.]{5})\d+(?:\.\d*)?"
_NAME = r'"(?:[^"]|"")*"|`[^`]*`'
_SIZE = r"\b(?:\w*char|character|varying|dec(?:imal)?|numeric|float|time|timestamp|var\w+)\s*\("
_SIZED_TYPE = re.compile(_SIZE, re.IGNORECASE)
_TYPE = rf"{_SIZE}\s*\d+\s*(?:,\s*\d+\s*)?\)"
_SIZES = ("char", "dec", "numeric", "float", "time", "var")
_WITH_SIZE = re.compile(_TYPE, re.IGNORECASE)
# Constant replacements are fast: most statements have neither names in quotes, nor comments, nor sizes.
_STRINGS, _NUMBERS, _LONG_NUMBERS = (
    re.compile(pattern, re.DOTALL) for pattern in (_STRING, _NUMBER, _LONG_NUMBER)
)
_UNUSUAL = ('"', "`", "--", "/*")
_STRINGS_AND_COMMENTS = re.compile(
    rf"(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<string>{_STRING})|{_NAME}", re.DOTALL
)
_OTHER_NUMBERS, _OTHER_LONG_NUMBERS = (
    re.compile(rf"(?P<same>{_NAME}|{_TYPE})|{number}", re.DOTALL | re.IGNORECASE)
    for number in (_NUMBER, _LONG_NUMBER)
)
# A project of BigQuery, such as ``shop-prod-42.sales.orders``: its number is no literal.
_NUMBER_IN_NAME = re.compile(r"-\d+\.[^\W\d]")
_LIST = re.compile(r"\b(?:group|order)\s+by\b", re.IGNORECASE)
# Statements that neither read nor write rows.
_SHOWS = re.compile(
    r"(?:\s*(?:--[^\n]*\n|/\*.*?\*/))*\s*(?:show|explain(?!\s*\(?\s*analy[sz]e\b)|fetch|close)\b",
    re.IGNORECASE | re.DOTALL,
)
_KEEPS_PATHS = re.compile(r"\s*(?:copy|unload|create|alter|load|export|import|bulk)\b", re.IGNORECASE)
# The word before a path in other statements: ``insert overwrite directory``.
_PATH_FOLLOWS = frozenset({"directory", "inpath", "location"})
# What precedes a statement that is run: EXPLAIN ANALYZE; the parameters of SQL Server's clients.
_BEFORE_STATEMENT = re.compile(
    r"\s*(?:explain\s*(?:\([^()]*\)|analy[sz]e(?:\s+verbose)?)"
    r"|\(\s*@\w+\s+(?:[^()']|\((?:[^()'])*\))*\))(?=\s*[\w(;])",
    re.IGNORECASE,
)
# Statements that contain others.
_BLOCK = re.compile(
    r"\s*(?:begin\s+(?!transaction\b|work\b|isolation\b|read\b|not\b)\w|declare\b|do\b|if\b|for\b|while\b"
    r"|create\s+(?:or\s+(?:replace|alter)\s+)?(?:procedure|function|trigger|package|task)\b)",
    re.IGNORECASE,
)
MOVES_FILES = re.compile(r"\s*(?:copy|unload)\b", re.IGNORECASE)
_UNLOADS = re.compile(r"\s*unload\b", re.IGNORECASE)
_SETS_PATH = re.compile(
    r"\s*(?:set\s+(?:session\s+|local\s+)?search_path\b"
    r"|select\s+(?:pg_catalog\s*\.\s*)?set_config\s*\(\s*'search_path'\s*,\s*'[^']*'\s*,\s*\w+\s*\)\s*;?\s*\Z)",
    re.IGNORECASE,
)
# Redaction of keys in them would end at the end of the statement.
_CREDENTIALS = re.compile(
    rf"(\b(?:credentials(?:\s+as)?|access_key_id|secret_access_key|session_token)\s*){_STRING}",
    re.IGNORECASE | re.DOTALL,
)
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
NOTHING = Template("", "")


class Templates:
    """Makes templates; statements that differ only in literals take the short path.

    `quotes`: the dialect writes strings in double quotes.
    """

    def __init__(self, *, quotes: bool = False) -> None:
        self._quotes = quotes
        self._by_skeleton: dict[str, Template] = {}
        self._by_text: dict[str, Template] = {}

    def find_template(self, text: str) -> Template:
        """Return the template of a statement; an empty one if it neither reads nor writes rows."""
        if _SHOWS.match(text):
            return NOTHING
        skeleton = self._skeleton(text)
        cache, key = (self._by_text, text) if skeleton is None else (self._by_skeleton, skeleton)
        template = cache.get(key)
        if template is None:
            if len(cache) >= _CACHED:
                cache.clear()
            template = cache[key] = template_of(text, quotes=self._quotes)
        return template

    def _skeleton(self, text: str) -> str | None:
        """Return a text that only statements with an equal template have; None if there is no short path."""
        lower = text.lower()
        if "$" in text or (self._quotes and '"' in text):
            return None
        if "-" in text and _NUMBER_IN_NAME.search(text):
            return None
        if any(word in lower for word in ("search_path", "unload", "pivot")):
            return None
        if any(part in lower for part in _REMAINING) and (
            begins(_KEEPS_PATHS, text) or any(word in lower for word in _PATH_FOLLOWS)
        ):
            return None
        is_unusual = any(mark in text for mark in _UNUSUAL)
        if any(part in lower for part in _SIZES):
            types = len(_SIZED_TYPE.findall(text))
            if types != len(_WITH_SIZE.findall(text)):
                return None
            is_unusual = is_unusual or types > 0
        plain = _STRINGS_AND_COMMENTS.sub(_mask_strings, text) if is_unusual else _STRINGS.sub("'?'", text)
        position_list = _LIST.search(plain) if "by" in lower else None
        end = len(plain) if position_list is None else position_list.start()
        if is_unusual:
            return _OTHER_NUMBERS.sub(_same, plain[:end]) + _OTHER_LONG_NUMBERS.sub(_same, plain[end:])
        return _NUMBERS.sub("?", plain[:end]) + _LONG_NUMBERS.sub("?", plain[end:])


def _mask_strings(piece: re.Match[str]) -> str:
    if piece.lastgroup == "string":
        return "'?'"
    if piece.lastgroup != "comment":
        return piece[0]
    owner = owner_in(_inner_comment(piece[0]))
    if owner is None:
        return " "
    text = " ".join(owner).replace('"', '""')
    return f'/*"{text}"*/'


def _same(number: re.Match[str]) -> str:
    return number["same"] or "?"


def template_of(text: str, *, quotes: bool = False) -> Template:
    """Return a statement without literals, comments and layout."""
    text = _strip_signature(text)
    if begins(MOVES_FILES, text):
        text = _CREDENTIALS.sub(r"\1''", text)
    text = redact_sql(text)  # first: without its numbers an address, or encoded text, is not known as such
    comments: list[str] = []
    pieces = _mask_literals(text, comments, quotes=quotes)
    plain = "".join(_single_spaces(pieces)).strip().rstrip("; ")
    plain = _SAME_ROWS.sub(r"\1", _SAME_VALUES.sub(r"in (\1)", plain))
    same = _AROUND_SYMBOLS.sub(r"\1", _PATHS.sub("'?'", plain)).lower()
    return Template(plain, hashlib.sha256(same.encode()).hexdigest()[:16], owner_of(comments))


def _strip_signature(text: str) -> str:
    """Return a statement without what precedes it in the log: parameters, EXPLAIN ANALYZE."""
    at = 0
    while comment := _LEADING_COMMENT.match(text, at):
        at = comment.end()
    signature = _BEFORE_STATEMENT.match(text, at)
    return text[:at] + text[signature.end() :] if signature else text


def _single_spaces(pieces: Iterator[str]) -> Iterator[str]:
    before = ""
    for piece in pieces:
        if piece != " " or before != " ":
            yield piece
        before = piece


def _mask_literals(text: str, comments: list[str], *, quotes: bool) -> Iterator[str]:
    keeps_paths, keeps_strings = begins(_KEEPS_PATHS, text), begins(_SETS_PATH, text)
    is_unload = begins(_UNLOADS, text)
    before = ""
    is_list = False
    names = naming_values(_tokens(text, quotes=quotes)) if "pivot" in text.lower() else frozenset()
    sized: list[bool] = []
    for match in _PIECE.finditer(text):
        kind, piece = match.lastgroup, match[0]
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
            yield _quote(template_of(_unquote(piece)).text)
        elif kind == "body":
            inner = _replace_dollars(piece)
            yield _quote(template_of(inner).text) if is_unload and before == "(" else "'?'"
        elif kind == "string":
            value = piece.strip("'\"")
            keeps = keeps_paths or before in _PATH_FOLLOWS
            is_path = keeps and (_PATH.match(value) or value.lower() in _OPTIONS)
            yield piece if keeps_strings or is_path or match.start() in names else "'?'"
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
    for match in _PIECE.finditer(text):
        kind, piece = match.lastgroup or "", match[0]
        if kind not in ("comment", "space"):
            is_string = kind == "quoted" and quotes and piece.startswith('"')
            yield Token("string" if is_string else kind, piece, match.start())


def statements_in(text: str) -> list[str]:
    """Return the statements of a text; a block or the definition of a procedure is one."""
    if ";" not in text or ";" not in text.rstrip("; \t\r\n") or begins(_BLOCK, text):
        return [text]
    statements: list[str] = []
    start, is_empty = 0, True
    for piece in _PIECE.finditer(text):
        if piece.lastgroup == "symbol" and piece[0] == ";":
            if not is_empty:
                statements.append(text[start : piece.start()])
            start, is_empty = piece.end(), True
        elif piece.lastgroup not in ("comment", "space"):
            is_empty = False
    if not is_empty:
        statements.append(text[start:])
    return statements or [text]


def begins(pattern: re.Pattern[str], text: str) -> bool:
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


def _unquote(piece: str) -> str:
    return re.sub(r"''|\\(.)", lambda escape: escape[1] or "'", piece[1:-1], flags=re.DOTALL)


def _replace_dollars(piece: str) -> str:
    end = piece.index("$", 1) + 1
    return piece[end:-end] if len(piece) >= 2 * end else piece[end:]


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
