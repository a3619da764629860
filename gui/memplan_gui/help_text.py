"""A page of Help as a document: Markdown read by Qt, then given the window's sizes, colours and spacing."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)

from memplan_gui.presenters.labels import anchor
from memplan_gui.theme import Theme

HEADING_SIZES = {1: 1.6, 2: 1.25, 3: 1.05}
"""Against the body's text."""
SPACE_ABOVE = {1: 0.0, 2: 1.7, 3: 1.2}
SPACE_BELOW = {1: 0.6, 2: 0.4, 3: 0.2}
LINE_HEIGHT = 135.0
MARGIN = 20
CELL_PADDING = 5
_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML


def page_document(markdown: str, theme: Theme, owner: QObject) -> tuple[QTextDocument, dict[str, int]]:
    """A page as a document, and the position of each heading by its anchor."""
    document = QTextDocument(owner)  # dressed before a view has it: in a view each change lays the page out anew
    document.setUndoRedoEnabled(False)
    document.setDefaultFont(theme.font("body"))
    document.setDocumentMargin(MARGIN)
    document.setIndentWidth(1.3 * theme.body_pixels)
    document.setMarkdown(markdown, _FEATURES)
    places: dict[str, int] = {}
    whole = QTextCursor(document)
    whole.beginEditBlock()
    for block in _blocks(document):
        level = block.blockFormat().headingLevel()
        if level:
            places.setdefault(anchor(block.text()), block.position())
        _dress_block(block, level, theme)
    for table in _tables(document.rootFrame()):
        _dress_table(table, theme)
    whole.endEditBlock()
    return document, places


def _blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def _is_code(block: QTextBlock) -> bool:
    form = block.blockFormat()
    return form.hasProperty(QTextFormat.Property.BlockCodeFence) or form.nonBreakableLines()


def _dress_block(block: QTextBlock, level: int, theme: Theme) -> None:
    body = theme.body_pixels
    form, in_table = QTextBlockFormat(block.blockFormat()), QTextCursor(block).currentTable() is not None
    if level:
        form.setTopMargin(SPACE_ABOVE.get(level, 1.0) * body)
        form.setBottomMargin(SPACE_BELOW.get(level, 0.2) * body)
    elif _is_code(block):
        first, last = not _is_code(block.previous()), not _is_code(block.next())
        form.setBackground(theme.colour("panel"))
        form.setLeftMargin(body)
        form.setTopMargin(0.5 * body if first else 0)
        form.setBottomMargin(0.9 * body if last else 0)
        form.setNonBreakableLines(False)  # a formula that is too long goes on in the next line
    elif not in_table:
        goes_on = block.textList() is not None and block.next().textList() is not None
        form.setBottomMargin((0.25 if goes_on else 0.7) * body)
        form.setTopMargin(0)
    if not _is_code(block) and not in_table:
        form.setLineHeight(LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    QTextCursor(block).setBlockFormat(form)
    _dress_pieces(block, level, theme, in_code=_is_code(block))


def _dress_pieces(block: QTextBlock, level: int, theme: Theme, *, in_code: bool) -> None:
    """Headings in their size, code in a face of even width, links in the colour of what can be acted on."""
    pieces: list[tuple[int, int, QTextCharFormat]] = []
    walk = block.begin()
    while not walk.atEnd():
        fragment = walk.fragment()
        pieces.append((fragment.position(), fragment.length(), fragment.charFormat()))
        walk += 1
    for start, length, found in pieces:
        form = QTextCharFormat(found)
        form.clearProperty(QTextFormat.Property.FontSizeAdjustment)  # it would count instead of the size in pixels
        form.setProperty(QTextFormat.Property.FontPixelSize, round(HEADING_SIZES.get(level, 1.0) * theme.body_pixels))
        if level:
            form.setFontWeight(QFont.Weight.DemiBold)
        if in_code or found.fontFixedPitch():
            form.setFontFamilies(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).families())
            form.setBackground(theme.colour("panel"))
        if found.isAnchor():
            form.setForeground(theme.colour("accent"))
        cursor = QTextCursor(block)
        cursor.setPosition(start)
        cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
        cursor.setCharFormat(form)


def _tables(frame: QTextFrame) -> Iterator[QTextTable]:
    for child in frame.childFrames():
        if isinstance(child, QTextTable):
            yield child
        yield from _tables(child)


def _dress_table(table: QTextTable, theme: Theme) -> None:
    line = QColor(theme.colour("hairline"))
    form = table.format()
    form.setBorder(1)
    form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    form.setBorderCollapse(True)
    form.setBorderBrush(line)
    form.setCellPadding(CELL_PADDING)
    form.setCellSpacing(0)
    form.setTopMargin(0.3 * theme.body_pixels)
    form.setBottomMargin(theme.body_pixels)
    form.setWidth(QTextLength())
    table.setFormat(form)
    for column in range(table.columns()):
        cell = table.cellAt(0, column)
        cell_form = cell.format()
        cell_form.setBackground(theme.colour("panel"))
        cell_form.setFontWeight(QFont.Weight.DemiBold)
        cell.setFormat(cell_form)
