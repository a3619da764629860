"""The pages of Help: Markdown from `resources/help`, with the tables that the core and the menus know. No Qt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memplan import plain_numbers, resource, tr_later, translated
from memplan_gui.presenters.help_tables import lever_sections, optimizer_table, recipe_table, shortcut_table
from memplan_gui.presenters.labels import anchor

PAGES: dict[str, str] = {
    "start": tr_later("First steps"),
    "recipes": tr_later("Recipes"),
    "levers": tr_later("Levers"),
    "why": tr_later("Why is my number different?"),
    "sharing": tr_later("Sheets and exports"),
    "glossary": tr_later("Glossary"),
    "method": tr_later("The method"),
    "articles": tr_later("The arithmetic of guides"),
    "evidence": tr_later("Evidence"),
    "keyboard": tr_later("Keyboard shortcuts"),
}
"""Every page by the name of its file, in the order of the contents."""

Shortcut = tuple[str, str, str]
"""Menu, command and keys, as the menus have them."""

_HEADING = re.compile(r"^(#{1,3}) +(.+?)\s*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```\s*$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"^<!-- (\w+) -->$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class HelpSection:
    """A heading of a page and what stands under it, up to the next one."""

    page: str
    level: int
    heading: str
    text: str

    @property
    def topic(self) -> str:
        """Where it stands: "levers#checkpointing"; a page's first heading is the page itself."""
        return self.page if self.level == 1 else f"{self.page}#{anchor(self.heading)}"

    @property
    def title(self) -> str:
        """What search calls it: "Checkpointing · Levers"."""
        page = translated(PAGES[self.page])
        return page if self.level == 1 else f"{self.heading} · {page}"


class HelpPages:
    """The pages, each put together when it is first asked for."""

    def __init__(self, shortcuts: Sequence[Shortcut]) -> None:
        self._known: dict[str, str] = {}
        self._sections: dict[str, tuple[HelpSection, ...]] = {}
        self._tables: Mapping[str, Callable[[], str]] = {
            "recipes": recipe_table,
            "optimizers": optimizer_table,
            "levers": lever_sections,
            "keyboard": lambda: shortcut_table(shortcuts),
        }

    @plain_numbers()
    def markdown(self, page: str) -> str:
        """A page's whole text; numbers in its tables are written as those of its text.

        Raises:
            MemplanError: its file is missing; the installation is incomplete.
        """
        if page not in self._known:
            text = resource("help", f"{page}.md").read_text(encoding="utf-8")
            self._known[page] = _MARK.sub(lambda found: self._tables[found[1]](), text)
        return self._known[page]

    def sections(self, page: str) -> tuple[HelpSection, ...]:
        """A page heading by heading."""
        if page not in self._sections:
            text = self.markdown(page)
            hidden = _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)  # a comment in code is no heading
            found = list(_HEADING.finditer(hidden))
            ends = [later.start() for later in found[1:]] + [len(text)]
            self._sections[page] = tuple(
                HelpSection(page, len(one[1]), _plain(one[2]), _plain(text[one.end() : end]))
                for one, end in zip(found, ends, strict=True)
            )
        return self._sections[page]

    def search(self, query: str) -> tuple[HelpSection, ...]:
        """Sections that have every word of the query, those first that have them in their heading."""
        words = query.casefold().split()
        if not words:
            return ()
        found = [
            (not all(word in section.heading.casefold() for word in words), place, section)
            for place, section in enumerate(one for page in PAGES for one in self.sections(page))
            if all(word in f"{section.heading} {section.text}".casefold() for word in words)
        ]
        return tuple(section for *_, section in sorted(found, key=lambda one: one[:2]))


def topic_of_link(link: str, page: str) -> str | None:
    """Where a link of a page leads: "glossary.md#need" to "glossary#need"; None where it leaves Help.

    >>> topic_of_link("glossary.md#need", "why"), topic_of_link("#need", "glossary"), topic_of_link("recipes.md", "why")
    ('glossary#need', 'glossary#need', 'recipes')
    >>> topic_of_link("https://arxiv.org/abs/1910.02054", "method") is None
    True
    """
    file, _, place = link.partition("#")
    target = file.removesuffix(".md") if file else page
    if target not in PAGES or (file and not file.endswith(".md")):
        return None
    return f"{target}#{place}" if place else target


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("**", "").replace("`", "").strip()
