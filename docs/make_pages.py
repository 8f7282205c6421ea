#!/usr/bin/env python3
"""Writes docs/, the README and the reference of the Python package as the sources of a site for MkDocs: links between them
stay, links to sources are text.

usage: make_pages.py FOLDER
"""

import pathlib
import re
import sys

import python_reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTSIDE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


def with_links(text, folder):
    """Links of a document in `folder`, as they are from the site's pages, which lie in one folder."""

    def link(match):
        label, target, place = match.group(1), match.group(2), match.group(3) or ""
        if target.startswith("http"):
            return match.group(0)
        path = (folder / target).resolve().relative_to(ROOT)
        if str(path) in OUTSIDE:
            return f"[{label}]({OUTSIDE[str(path)]}{place})"
        if path.parent == pathlib.Path("docs") and path.suffix == ".md":
            return f"[{label}]({path.name}{place})"
        return f"{label} (`{path}`)"

    return re.sub(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)", link, text)


def title(text):
    return re.search(r"^# (.+)$", text, re.M).group(1)


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    pages = out / "docs"
    pages.mkdir(parents=True, exist_ok=True)
    listed = []
    for path in [ROOT / name for name in OUTSIDE] + sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text()
        name = OUTSIDE.get(str(path.relative_to(ROOT)), path.name)
        (pages / name).write_text(with_links(text, path.parent))
        listed.append((title(text), name))
    (pages / "python_reference.md").write_text(python_reference.page())
    listed.append(("Python reference", "python_reference.md"))
    nav = "".join(f"  - {name!r}: {file}\n" for name, file in listed)
    (out / "mkdocs.yml").write_text(
        f"site_name: tvm-vm\ndocs_dir: docs\nuse_directory_urls: false\ntheme: {{name: mkdocs}}\nplugins: [search]\nnav:\n{nav}"
    )


if __name__ == "__main__":
    main()
