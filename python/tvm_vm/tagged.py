"""Values of algebraic data types."""

from typing import Any, List, NamedTuple


class Tagged(NamedTuple):
    """A constructor of an algebraic data type: `tag` tells which, `fields` what it holds."""

    tag: int
    fields: List[Any]
