"""The reference of the Python package as a page: signatures and docstrings of what `tvm_vm` names, read from its sources and
from the stubs of its extension module; nothing is imported.
"""

import ast
import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "tvm_vm"
INTRODUCTION = "What `help(tvm_vm)` shows. [Python](python.md) tells how it is used.\n"


def read(path):
    return ast.parse(path.read_text())


def definitions():
    """Every class and function of the package, by name. A class of the same name in Python comes before the stub that it is
    built on."""
    found = {}
    for path in [PACKAGE / "_core.pyi", *sorted(PACKAGE.glob("*.py"))]:
        for node in read(path).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.setdefault(node.name, []).insert(0, node)
    return found


def exported():
    for node in read(PACKAGE / "__init__.py").body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    raise SystemExit("tvm_vm/__init__.py has no __all__")


def signature(node, called, is_method):
    arguments = ast.parse(ast.unparse(node)).body[0].args
    if is_method and arguments.args and arguments.args[0].arg == "self":
        arguments.args.pop(0)
    gives = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    before = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    text = f"{before}{called}({ast.unparse(arguments)}){gives}"
    if len(text) <= 100:
        return text
    parts = ast.unparse(arguments).split(", ")
    lines, depth = [""], 0
    for part in parts:  # commas inside of brackets do not part arguments
        lines[-1] += (", " if depth else "") + part
        depth += part.count("[") - part.count("]")
        if depth == 0:
            lines.append("")
    return f"{before}{called}(\n    " + ",\n    ".join(line for line in lines if line) + f",\n){gives}"


def is_property(node):
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)


def documented(node):
    """The docstring; one of several parts is laid out by its lines, which stay."""
    text = ast.get_docstring(node) or ""
    return f"\n```text\n{text}\n```\n" if "\n\n" in text else f"\n{text}\n" if text else ""


def members(nodes):
    """Of a class and those that it is built on, each once."""
    seen, listed = {"__init__"}, []
    for node in nodes:
        for member in node.body:
            if not isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) or member.name in seen:
                continue
            seen.add(member.name)
            if member.name == "__call__" or not member.name.startswith("_"):
                listed.append(member)
    return listed


def fields(node):
    return [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]


def class_text(name, nodes):
    made = next((member for node in nodes for member in node.body if getattr(member, "name", "") == "__init__"), None)
    called = signature(made, name, True) if made else name
    first = next((node for node in nodes if ast.get_docstring(node)), nodes[0])
    text = f"\n## {name}\n\n```python\n{called}\n```\n{documented(first)}"
    if made and ast.get_docstring(made):
        text += documented(made)
    for field in fields(nodes[0]):
        text += f"\n- `{ast.unparse(field)}`"
    text += "\n" if fields(nodes[0]) else ""
    for member in members(nodes):
        called = f"{name}.{member.name}" if member.name != "__call__" else "vm"
        if is_property(member):
            shown = f"{called}: {ast.unparse(member.returns)}" if member.returns else called
        else:
            shown = signature(member, called, True)
        text += f"\n```python\n{shown}\n```\n{documented(member)}"
    return text


def page():
    found = definitions()
    text = f"# Python reference\n\n{INTRODUCTION}"
    for name in exported():
        nodes = found[name]
        if isinstance(nodes[0], ast.FunctionDef):
            text += f"\n## {name}\n\n```python\n{signature(nodes[0], 'tvm_vm.' + name, False)}\n```\n{documented(nodes[0])}"
        else:
            text += class_text(name, nodes)
    return text
