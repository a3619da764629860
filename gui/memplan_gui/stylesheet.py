"""The one style sheet: what a palette cannot say (flat editors, one corner radius, hairlines). Plain Python, no Qt."""

from __future__ import annotations

from string import Template

from memplan_gui.colours import Roles

RADIUS = 4
"""Corner radius of everything that has corners."""
QUESTION_WIDTH = 320
"""Of what explains a question: a path in it is not broken where it need not be."""

TEMPLATE = """
QWidget#plan_panel, QWidget#plan_fields, QLabel#advice_words { background: $panel; }
QWidget#plan_panel { border-right: 1px solid $hairline; }
QScrollArea { border: none; background: transparent; }
QMainWindow, QDialog, QWidget#answer { background: $window; }
QAbstractScrollArea::corner { background: transparent; border: none; }

QMenuBar { background: $window; border-bottom: 1px solid $hairline; padding: 2px 4px; }
QMenuBar::item { padding: 4px 8px; border-radius: ${radius}px; background: transparent; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $field; border: 1px solid $hairline; padding: 4px; menu-scrollable: 1; }
QMenu::item { padding: 5px 24px 5px 24px; border-radius: ${radius}px; }
QMenu::item:selected { background: $accent_soft; color: $text; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $hairline; margin: 4px 8px; }
QToolTip { background: $field; color: $text; border: 1px solid $border; padding: 6px; }

QLabel[role="heading"] { font-size: ${heading}px; font-weight: 600; }
QLabel[role="section"] { font-weight: 600; }
QLabel[role="caption"] { font-size: ${caption}px; color: $muted; }
QLabel[role="advice"] { font-size: ${caption}px; color: $tight; }
QLabel[advised="true"] { color: $tight; }
QLabel[role="rejection"] { font-size: ${caption}px; color: $does_not_fit; }
QLabel[role="said"] {
  background: $text; color: $window; border-radius: ${radius}px; padding: 6px 12px;
}
QLabel[role="muted"] { color: $muted; }
QLabel:disabled { color: $faint; }

QLineEdit, QComboBox, QPlainTextEdit {
  background: $field; color: $text; border: 1px solid $border; border-radius: ${radius}px;
  padding: 3px 7px; selection-background-color: $accent; selection-color: $on_accent;
  placeholder-text-color: $muted;
}
QLineEdit, QComboBox { min-height: 20px; }
QLineEdit:focus, QComboBox:focus, QPlainTextEdit:focus { border: 2px solid $accent; padding: 2px 6px; }
QLineEdit:disabled, QComboBox:disabled { color: $faint; border-color: $hairline; }
QLineEdit[rejected="true"] { border-color: $does_not_fit; }
QLineEdit#plan_title {
  border: 1px solid transparent; background: transparent; font-weight: 600; padding: 3px 5px;
}
QLineEdit#plan_title:hover { border-color: $hairline; }
QLineEdit#plan_title:focus { border: 2px solid $accent; background: $field; padding: 2px 4px; }
QLineEdit#plan_title[rejected="true"] { border-color: $does_not_fit; }
QCheckBox { spacing: 8px; min-height: 24px; }
QCheckBox::indicator {
  width: ${box}px; height: ${box}px; border: 1px solid $border; border-radius: 3px; background: $field;
}
QCheckBox::indicator:checked { background: $accent; border-color: $accent; image: url("$check"); }
QCheckBox::indicator:focus { border: 2px solid $accent; width: ${smaller_box}px; height: ${smaller_box}px; }
QComboBox { combobox-popup: 0; }
QComboBox QLineEdit, QComboBox QLineEdit:focus { border: none; padding: 0; min-height: 0; background: transparent; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url("$chevron"); width: ${arrow}px; height: ${arrow}px; }
QComboBox QAbstractItemView, QListView#hits {
  background: $field; color: $text; border: 1px solid $border; padding: 0; outline: none;
  selection-background-color: $accent_soft; selection-color: $text;
}
QComboBox QAbstractItemView::item { min-height: 26px; padding: 0 8px; }

QFileDialog {
  backward-icon: url("$back"); forward-icon: url("$forward");
  filedialog-parent-directory-icon: url("$parent"); filedialog-new-directory-icon: url("$new_folder");
  filedialog-listview-icon: url("$listed"); filedialog-detailedview-icon: url("$detailed");
}
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QMessageBox QLabel#qt_msgbox_label { font-weight: 600; }
QMessageBox QLabel#qt_msgbox_informativelabel { min-width: ${question}px; }

QPushButton, QToolButton[role="button"] {
  background: $field; color: $text; border: 1px solid $border; border-radius: ${radius}px; padding: 3px 12px;
  min-height: 20px;
}
QPushButton:hover, QToolButton[role="button"]:hover { background: $hover; }
QToolButton[role="button"]:checked { background: $accent_soft; border-color: $accent; }
QToolButton[role="button"]:disabled { color: $faint; border-color: $hairline; }
QPushButton:focus, QToolButton[role="button"]:focus { border: 2px solid $accent; padding: 2px 11px; }
QToolButton[role="button"]:checked:focus { border: 2px solid $text; }
QPushButton:default { background: $accent; color: $on_accent; border-color: $accent; }
QPushButton:default:focus { border: 3px double $on_accent; padding: 1px 10px; }
QPushButton:disabled { background: $field; color: $faint; border-color: $hairline; }
QToolButton[role="flat"] { border: 2px solid transparent; border-radius: ${radius}px; padding: 2px; color: $muted; }
QToolButton[role="flat"]:hover { background: $hover; color: $text; }
QToolButton[role="flat"]:focus { border-color: $accent; }
QToolButton[role="link"] {
  border: 2px solid transparent; border-radius: ${radius}px; padding: 0; background: transparent;
  color: $accent; text-decoration: underline; font-size: ${caption}px;
}
QToolButton[role="link"]:focus { border-color: $accent; }
QToolButton[role="fold"] {
  border: 2px solid transparent; border-radius: ${radius}px; padding: 3px 4px 3px 0; color: $muted; text-align: left;
  margin-left: 4px;
}
QToolButton[role="fold"]:hover { color: $text; }
QToolButton[role="fold"]:focus { border-color: $accent; }
QToolButton[role="segment"] {
  background: transparent; color: $muted; border: 1px solid $border; border-right-width: 0; padding: 2px 9px;
  min-height: 18px; border-radius: 0; font-size: ${caption}px;
}
QToolButton[role="segment"][end="first"] {
  border-top-left-radius: ${radius}px; border-bottom-left-radius: ${radius}px;
}
QToolButton[role="segment"][end="last"] {
  border-right-width: 1px; border-top-right-radius: ${radius}px; border-bottom-right-radius: ${radius}px;
}
QToolButton[role="segment"]:hover { background: $hover; color: $text; }
QToolButton[role="segment"]:checked {
  background: $accent_soft; color: $text; border-color: $accent; border-right-width: 1px;
}
QToolButton[role="segment"]:focus { border: 2px solid $text; padding: 1px 8px; }
QToolButton::menu-indicator { image: none; }

QTabBar { background: transparent; border: none; qproperty-drawBase: 0; }
QTabBar::tear { width: 0; image: none; }
QTabBar QToolButton { background: $window; border: 1px solid $hairline; border-radius: ${radius}px; margin: 8px 0; }
QTabBar::tab {
  background: transparent; color: $muted; border: none; border-bottom: 2px solid transparent;
  padding: 6px 12px 4px 12px; min-height: 22px;
}
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::close-button { image: url("$close"); width: ${cross}px; height: ${cross}px; margin: 2px; }
QTabBar::close-button:hover { background: $hover; border-radius: 2px; }
QTabWidget#views::tab-bar { left: 12px; }
QTabBar#view_tabs::tab { padding: 6px 8px 4px 8px; }
QTabWidget::pane { border: none; border-top: 1px solid $hairline; }

QWidget#help { background: $panel; }
QTextBrowser#help_page { background: $window; border: none; }
QTreeWidget#understood::item { padding: 2px 8px; }
QTreeWidget#help_contents { background: transparent; border: none; outline: none; }
QTreeWidget#help_contents::item { padding: 3px 2px; }
QTreeWidget#help_contents::item:selected { background: $accent_soft; color: $text; }

QTableView {
  background: $window; color: $text; border: none; gridline-color: $hairline; outline: none;
  selection-background-color: $accent_soft; selection-color: $text;
}
QHeaderView { background: $window; }
QHeaderView::section {
  background: $window; color: $muted; border: none; border-bottom: 1px solid $border; padding: 4px 11px;
}
QTableView#devices QHeaderView::up-arrow, QTableView#devices QHeaderView::down-arrow {
  image: none; width: 0; height: 0;
}
FitTable QHeaderView::section { padding: 4px 8px; }
QHeaderView::section:vertical { border-bottom: 1px solid $hairline; color: $text; padding-left: 0; }
QTableView#breakdown QHeaderView::section:horizontal { padding-left: 2px; }
QTableCornerButton::section { background: $window; border: none; border-bottom: 1px solid $border; }

QFrame#notice { background: $accent_soft; border: none; border-radius: ${radius}px; }
QFrame#notice[kind="error"] { background: $field; border: 1px solid $does_not_fit; }
QFrame#hairline { background: $hairline; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $border; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {
  background: none; border: none;
}
"""


def style_sheet(
    roles: Roles, *, heading_pixels: int, caption_pixels: int, icons: dict[str, str], zoom: float = 1.0
) -> str:
    """Return the style sheet for these colours and text sizes.

    Args:
        roles: the colours.
        heading_pixels: the size of headings.
        caption_pixels: the size of captions.
        icons: the files of the icons that it draws.
        zoom: how much larger than usual the text is; signs beside it grow with it.
    """
    values = {**roles._asdict(), **icons, "heading": heading_pixels, "caption": caption_pixels, "radius": RADIUS}
    box = round(14 * zoom)
    signs = {
        "box": box,
        "smaller_box": box - 2,
        "arrow": round(10 * zoom),
        "cross": round(12 * zoom),
        "question": round(QUESTION_WIDTH * zoom),
    }
    return Template(TEMPLATE).substitute(values, **signs)
