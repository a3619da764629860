"""Write resources/translations/memplan.pot: every text that a translator is given.

    python -m tools.make_translation_template

Texts of the code are those in `tr`, `tr_n` and `tr_later`, and in the calls of `KEYWORDS`. Those that the plan's
model, levers and terms have for themselves are taken from there (`tools/texts_of_data.py`). The same sources give the
same file: it holds no date and no line numbers.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import write_po

from tools.texts_of_data import texts_of_data

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "resources" / "translations" / "memplan.pot"
FOLDERS = ("core/memplan", "gui/memplan_gui")
KEYWORDS: dict[str, tuple[int, ...] | None] = {
    "tr": None,
    "tr_n": (1, 2),
    "tr_later": None,
    "Command": (3,),
    "Views": (1,),
    "add_view": (1,),
}
"""What texts stand in, and in which arguments."""
HEADER = "# Texts of memplan's window. Made by `python -m tools.make_translation_template`: change the sources instead."


def template() -> bytes:
    """The template as it should be."""
    catalog = Catalog(project="memplan", version="", header_comment=HEADER, charset="utf-8")
    for text, where, note in sorted(_found(), key=str):
        catalog.add(text, locations=[(where, 0)], auto_comments=[note] if note else [])
    written = io.BytesIO()
    write_po(written, catalog, width=120, sort_output=True, include_lineno=False)
    lines = written.getvalue().splitlines(keepends=True)
    left_out = (b'"POT-Creation-Date', b'"PO-Revision-Date', b'"Generated-By', b'"Report-Msgid-Bugs-To')
    return b"".join(line for line in lines if not line.startswith(left_out))


def _found() -> Iterator[tuple[str | tuple[str, ...], str, str]]:
    for folder in FOLDERS:
        for file, _, message, _, _ in extract_from_dir(
            ROOT / folder, [("**.py", "python")], {}, KEYWORDS, strip_comment_tags=True
        ):
            yield message, f"{folder}/{Path(file).as_posix()}", ""
    yield from texts_of_data()


def main() -> int:
    """Write the file; say how much is in it."""
    TEMPLATE.parent.mkdir(parents=True, exist_ok=True)
    content = template()
    TEMPLATE.write_bytes(content)
    print(f"{TEMPLATE.relative_to(ROOT)}: {content.count(b'msgid ') - 1} texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
