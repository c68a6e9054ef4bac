"""A traversal as text, for the grammar `gremlin-lang` that Neptune uses."""

from enum import Enum
from typing import Any

from gremlin_python.driver.client import Client
from gremlin_python.process.graph_traversal import GraphTraversal
from gremlin_python.process.traversal import Bytecode, P, TextP, Traversal
from gremlin_python.statics import LongType


def text_of(traversal: GraphTraversal | Bytecode) -> str:
    """``g.V('a').has('name', 'b')``."""
    bytecode = traversal.bytecode if isinstance(traversal, Traversal) else traversal
    return "g" + _steps(bytecode)


def passes_the_grammar(client: Client, traversal: GraphTraversal | Bytecode) -> list[Any]:
    """Run it as text; raises what the server says where the grammar does not know it."""
    return answers_in_the_grammar(client, text_of(traversal))


def answers_in_the_grammar(client: Client, text: str) -> list[Any]:
    """What a query that is text already answers, if the grammar knows it."""
    request = client.submit(text, request_options={"language": "gremlin-lang"})
    found: list[Any] = request.all().result()
    return found


def _steps(bytecode: Bytecode) -> str:
    return "".join(
        f".{name}({', '.join(map(_argument, arguments))})" for name, *arguments in bytecode.step_instructions
    )


def _argument(value: Any) -> str:
    match value:
        case Traversal():
            return "__" + _steps(value.bytecode)
        case Bytecode():
            return "__" + _steps(value)
        case bool():
            return str(value).lower()
        case TextP():
            return f"TextP.{value.operator}({_argument(value.value)})"
        case P():
            return f"P.{value.operator}({_argument(value.value)})"
        case dict():
            return "[" + ", ".join(f"({_argument(k)}):{_argument(v)}" for k, v in value.items()) + "]"
        case list():
            return "[" + ", ".join(map(_argument, value)) + "]"
        case str():
            text = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
            return f"'{text}'"
        case LongType():
            return f"{int(value)}L"
        case Enum():
            name = {"id_": "id", "set_": "set", "on_create": "onCreate", "on_match": "onMatch"}
            name |= {"OUT": "OUT", "IN": "IN", "from_": "from"}
            return f"{type(value).__name__}.{name.get(value.name, value.name)}"
        case _:
            return str(value)
