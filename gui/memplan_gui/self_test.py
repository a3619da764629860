"""Can this installation draw? Qt's parts, the window, each view, each kind of picture, without a display."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QLibraryInfo, QPluginLoader, qInstallMessageHandler
from PySide6.QtGui import QFontDatabase, QIcon, QImage, QImageReader
from PySide6.QtWidgets import QApplication

from memplan import load_plan, resource
from memplan_gui.application import Application
from memplan_gui.charts.export import Paint, pdf_bytes, png_bytes, svg_bytes, today
from memplan_gui.charts.sheet_picture import A4
from memplan_gui.document import PlanDocument
from memplan_gui.first_plan import EXAMPLE, EXAMPLES
from memplan_gui.help_window import HelpWindow
from memplan_gui.icons import IN_STYLE_SHEET, TINTED, icon_file
from memplan_gui.language import read_catalog
from memplan_gui.mistakes import tell_qt_message
from memplan_gui.presenters.help import PAGES, HelpPages
from memplan_gui.settings import Settings
from memplan_gui.sheet_files import sheet_painter
from memplan_gui.theme import Theme
from memplan_gui.window import Window

Step = tuple[str, Callable[[], str]]

_DESKTOPS = {
    "linux": ("platforms/qxcb", "platforminputcontexts/composeplatforminputcontextplugin"),
    "darwin": ("platforms/qcocoa",),
    "win32": ("platforms/qwindows",),
}
"""Qt's plug-ins that the window needs on a desktop, and the drawing here does not."""
_DRAWING = ("platforms/qoffscreen", "iconengines/qsvgicon", "imageformats/qsvg")


def steps() -> Iterator[Step]:
    """What to try, one after the other: a later step needs what an earlier one opened."""
    qInstallMessageHandler(tell_qt_message)
    yield "Qt's plug-ins", _plugins
    if not _plugin_file(_DRAWING[0]).exists():
        return  # Qt ends the process where it has no platform to draw on
    app = QApplication.instance() or Application(["memplan"])
    yield "examples", _examples
    yield "fonts", _fonts
    yield "icons", _icons
    yield "translations", _translations
    theme = Theme(app, "light")  # type: ignore[arg-type]  # it is this application, or a test's own
    window = Window(theme, Settings(forgotten=True))
    yield "window", partial(_open, window)
    if not window.is_filled:
        return
    for title in window.answer_panel.views.titles:
        yield f"view {title}", partial(_show, window, title)
    yield "help", partial(_help, window, theme)
    yield "sheet as PDF, PNG and SVG", partial(_pictures, window)
    yield "sheet on paper", partial(_paper, window)
    yield "closing", partial(_close, window)


def _plugins() -> str:
    """Load each plug-in that is needed: one that is there may lack a library of the system's."""
    needed = [*_DRAWING, *_DESKTOPS.get(sys.platform, ())]
    loaders = {name: QPluginLoader(str(_plugin_file(name))) for name in needed}
    problems = [f"{name}: {loader.errorString()}" for name, loader in loaders.items() if not loader.load()]
    if problems:
        raise RuntimeError("; ".join(problems))
    return f"{len(needed)} of those that are needed"


def _plugin_file(name: str) -> Path:
    folder, _, stem = name.partition("/")
    form = {"win32": "{}.dll", "darwin": "lib{}.dylib"}.get(sys.platform, "lib{}.so")
    return Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)) / folder / form.format(stem)


def _examples() -> str:
    return ", ".join(load_plan(resource("examples", name)).title for name in EXAMPLES)


def _fonts() -> str:
    families = QFontDatabase.families()
    if not families:
        raise RuntimeError("there is none: text would be empty boxes. Install one, such as DejaVu")
    return f"{len(families)} families"


def _icons() -> str:
    """Draw every icon by both of the ways that the window takes: as an icon, and as a picture in the style sheet."""
    files = [icon_file(name) for name in (*TINTED, *IN_STYLE_SHEET)]
    for file in files:
        if _num_colours(QIcon(str(file)).pixmap(48).toImage()) < 2 or QImageReader(str(file)).read().isNull():
            raise RuntimeError(f"{file.name} cannot be drawn")
    return str(len(files))


def _translations() -> str:
    """Read every catalog that is there; which languages there are, nobody promised."""
    files = sorted((resource("catalog").parent / "translations").rglob("memplan.mo"))
    for file in files:
        try:
            read_catalog(file)
        except Exception as error:
            raise RuntimeError(f"{file} is damaged: {type(error).__name__}") from error
    return f"English and {len(files)} others"


def _open(window: Window) -> str:
    window.resize(1280, 800)
    window.show()
    window.fill(PlanDocument(load_plan(resource("examples", EXAMPLE))))
    window.load_chart()
    window.answers.finish()
    QApplication.processEvents()
    verdict = window.answer_panel.verdict_words
    if verdict is None:
        raise RuntimeError("the example has no verdict")
    return verdict.word


def _show(window: Window, title: str) -> str:
    """Show a view and look at the picture: an empty one has a single colour."""
    views = window.answer_panel.views
    views.show_view(title)
    QApplication.processEvents()
    picture = views.currentWidget().grab().toImage()
    if _num_colours(picture) < 2:
        raise RuntimeError("nothing was painted")
    return f"{picture.width()} × {picture.height()} pixels"


def _num_colours(picture: QImage) -> int:
    """How many colours a sample of the picture has."""
    width, height, step = picture.width(), picture.height(), max(1, picture.width() // 130)
    return len({picture.pixel(x, y) for x in range(0, width, step) for y in range(0, height, step)})


def _help(window: Window, theme: Theme) -> str:
    """Open every page of Help; one whose file is missing says so itself."""
    pages = HelpPages([])
    browser = HelpWindow(window, pages, theme)
    for page in PAGES:
        pages.markdown(page)
        browser.show_topic(page)
    browser.close()
    return f"{len(PAGES)} pages"


def _paint_sheet(window: Window) -> Paint:
    scenario, answer = window.document.scenario, window.answers.answer()
    if answer.estimate is None:
        raise RuntimeError(answer.problem)
    return sheet_painter("self-test", "", scenario, answer.estimate, "gib", today())


def _pictures(window: Window) -> str:
    paint = _paint_sheet(window)
    sizes = [len(pdf_bytes([paint], A4, "t", today())), len(png_bytes(paint, A4)), len(svg_bytes(paint, A4, "t"))]
    if min(sizes) < 1000:
        raise RuntimeError(f"a picture is empty: {sizes} bytes")
    return ", ".join(f"{size} bytes" for size in sizes)


def _paper(window: Window) -> str:
    """Print to a file, as no printer need be there."""
    from PySide6.QtPrintSupport import QPrinter

    from memplan_gui.sheet_print import paint_on

    with TemporaryDirectory(prefix="memplan-") as folder:
        paper = Path(folder, "sheet.pdf")
        printer = QPrinter(QPrinter.PrinterMode.HighResolution)
        printer.setOutputFileName(str(paper))
        paint_on(printer, _paint_sheet(window))
        return f"{paper.stat().st_size} bytes"


def _close(window: Window) -> str:
    window.document.undo_stack.setClean()
    window.close()
    window.deleteLater()
    QApplication.processEvents()
    return "done"
