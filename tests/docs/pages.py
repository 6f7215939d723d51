"""The Markdown pages of the repository and the blocks of code in them.

Separate from the tests because several of them read pages. A fence says in its info string how it is checked:

| info string | how the block is held to the truth |
| --- | --- |
| `console run` | its `$` commands are run in the page's sandbox, and print what stands below them |
| `console install` | the same, in a sandbox with the sources, whose commands come from what the block installs |
| `console usage` | each `$` command of ours exists and has the options given: for what is not to be run in a test |
| `python run` | it runs in the sandbox; a `text output` block that follows is what it prints |
| `python run file=NAME` | the same, and it stays in the sandbox as NAME |
| `python kept file=NAME` | it stays in the sandbox, and a later command runs it |
| `json trace`, `json contract` | it loads as one; with `file=NAME` it also stays in the sandbox |
| `json part of=FILE` | each of its members stands so in FILE, with the same value |
| `json lines file=NAME` | each line is JSON; it stays in the sandbox as NAME |
| `LANGUAGE lines of=FILE` | its lines stand so in FILE, one below the other |
| `LANGUAGE shown by=TEST` | the test file named holds it; that file must exist and name the page |

In what a command prints, and in `lines of`, a line that is only `...` stands for one line or more. A block of a language that is
neither console, python nor json needs no directive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
CHECKED = ("console", "python", "json")
PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """One fence: where it begins, its language, how it is checked, and its text."""

    line: int
    language: str
    how: str
    options: dict[str, str]
    text: str


def pages() -> list[str]:
    """The pages that the repository speaks through: those at its root and those of docs/."""
    return [path.relative_to(ROOT).as_posix() for path in (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")))]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """The fences of a page, in its order."""
    made = []
    for token in PARSER.parse(text):
        if token.type == "fence":
            assert token.map is not None
            words = token.info.split()
            options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            how = " ".join(word for word in words[1:] if "=" not in word)
            made.append(Block(token.map[0] + 1, words[0] if words else "", how, options, token.content))
    return made


def headings(text: str) -> list[str]:
    """The anchors of a page's headings, as they are made where Markdown is shown."""
    tokens = PARSER.parse(text)
    titles = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def links(text: str) -> list[str]:
    """The targets of a page's links and images."""
    found = []
    for token in PARSER.parse(text):
        for child in token.children or ():
            if child.type in {"link_open", "image"}:
                found.append(str(child.attrGet("href") or child.attrGet("src")))
    return found


def agrees(expected: list[str], actual: list[str]) -> bool:
    """Tell whether lines are the expected ones, where an expected line `...` stands for one line or more."""
    pattern = "".join(r"(?:[^\n]*\n)+?" if line.strip() == "..." else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)) is not None
