"""How is a tree of lists, texts and numbers written as YAML, with no library?"""

from __future__ import annotations

import json
from typing import Any


def scalar(value: Any) -> str:
    # What JSON puts in quotes YAML reads alike.
    return json.dumps(value, ensure_ascii=False)


def lines(tree: Any, depth: int = 0) -> list[str]:
    space = "  " * depth
    found: list[str] = []
    if isinstance(tree, dict):
        for key, value in tree.items():
            name = key if key.isidentifier() else scalar(key)
            if isinstance(value, (dict, list)) and value:
                found += [f"{space}{name}:", *lines(value, depth + 1)]
            else:
                found.append(f"{space}{name}: {scalar(value)}")
    elif isinstance(tree, list):
        for item in tree:
            first, *rest = lines(item, depth + 1)
            found += [f"{space}- {first.lstrip()}", *rest]
    else:
        found.append(f"{space}{scalar(tree)}")
    return found


def text(question: str, tree: Any) -> str:
    return "\n".join([f"# {question}", *lines(tree)]) + "\n"
