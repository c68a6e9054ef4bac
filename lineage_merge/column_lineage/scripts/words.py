"""Words of SQL: the tokens of a dialect, with their places in the text. Pure; needs sqlglot."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import ClassVar, NamedTuple

from sqlglot import Dialect, TokenType
from sqlglot.tokens import Tokenizer

_STRINGS = frozenset(
    {TokenType.STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING}
)


class Word(NamedTuple):
    """A token: its `text` without quotes, and where it is in the SQL.

    `upper`: for keywords, symbols and unquoted names; "" for strings and quoted names. `depth`: the number of
    parentheses around it.
    """

    upper: str
    text: str
    start: int
    end: int
    depth: int
    is_string: bool


# An offset, the end and the new text.
Edit = tuple[int, int, str]


def words_of(text: str, dialect: Dialect) -> list[Word]:
    """Return the words of a text. Raises `TokenError`."""
    words: list[Word] = []
    depth = 0
    for token in _tokenizer(type(dialect).tokenizer_class)(dialect=dialect).tokenize(text):
        is_string = token.token_type in _STRINGS
        is_quoted = is_string or token.token_type is TokenType.IDENTIFIER
        if token.token_type is TokenType.R_PAREN:
            depth = max(depth - 1, 0)
        upper = "" if is_quoted else token.text.upper()
        words.append(Word(upper, token.text, token.start, token.end + 1, depth, is_string))
        if token.token_type is TokenType.L_PAREN:
            depth += 1
    return words


@cache
def _tokenizer(base: type[Tokenizer]) -> type[Tokenizer]:
    """Return a tokenizer that does not read the rest of a command as one string."""

    class WithoutCommands(base):  # type: ignore[misc, valid-type]
        COMMANDS: ClassVar[set[TokenType]] = set()

    return WithoutCommands


def upper_at(words: Sequence[Word], at: int) -> str:
    """Return the word at a position, "" outside."""
    return words[at].upper if 0 <= at < len(words) else ""


def closing(words: Sequence[Word], at: int) -> int:
    """Return the position of the parenthesis that closes the one at `at`."""
    inner = range(at + 1, len(words))
    return next((other for other in inner if words[other].depth <= words[at].depth), len(words))


def end_of_name(words: Sequence[Word], at: int) -> int:
    """Return the position after a name with dots; T-SQL has ``db..table``."""
    while upper_at(words, at + 1) == ".":
        at += 2
        while upper_at(words, at) == ".":
            at += 1
    return at + 1


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with changes; its lines remain where they are."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + "\n" * text.count("\n", start, end) + text[end:]
    return text
