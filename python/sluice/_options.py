"""Options as the library takes them."""

from __future__ import annotations

import os
from typing import Any, Dict

import numpy as np


def toml_of(options: Dict[str, Any]) -> str:
    """Options as lines of TOML."""
    return "\n".join(f"{name} = {toml_value(name, value)}" for name, value in options.items())


def toml_value(name: str, value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value).replace("\\", "\\\\").replace('"', '\\"')
        for mark, escape in (("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
            text = text.replace(mark, escape)
        return f'"{text}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(name, each) for each in value) + "]"
    raise TypeError(f"option {name}: {type(value).__name__} is no bool, number, text or list")
