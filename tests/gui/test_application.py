"""The start: what opens, in which order it is painted, and what becomes of errors that nobody expected."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent, QImage
from pytestqt.qtbot import QtBot

from memplan import load_plan, save_plan
from memplan_gui.__main__ import main, options, size
from memplan_gui.application import Application
from memplan_gui.document import new_plan
from memplan_gui.first_plan import example_plan, first_plan
from memplan_gui.help_commands import HINT
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import Window
from memplan_gui.windows import Windows


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the application in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "memplan_gui", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_start_paints_before_it_loads(tmp_path: Path) -> None:
    result = run(MEMPLAN_MARKS="1", MEMPLAN_EXIT_WHEN_PAINTED="1", XDG_CONFIG_HOME=str(tmp_path))
    assert result.returncode == 0, result.stderr
    marks = [line.split() for line in result.stderr.splitlines() if line.startswith("mark")]
    assert [name for _, name, _ in marks] == ["first_paint", "all_painted"]
    assert 0 < float(marks[0][2]) < float(marks[1][2])  # seconds of processors until then


def test_the_shell_is_there_before_pydantic_and_pyqtgraph() -> None:
    code = (
        "import sys\n"
        "from memplan_gui.application import Settings, Theme, Window, QApplication\n"
        "app = QApplication([])\n"
        "window = Window(Theme(app), Settings(forgotten=True))\n"
        "window.show(); app.processEvents()\n"
        "import PySide6.QtCore\n"
        "loaded = {*sys.modules, *vars(PySide6.QtCore)}\n"  # Qt's namespace of enumerations is loaded when it is named
        "print(sorted({'pydantic', 'pyqtgraph', 'numpy', 'memplan.estimate', 'Qt'} & loaded))"
    )
    assert printed(code) == "[]"


def test_the_plan_is_there_before_what_few_people_ask_for() -> None:
    code = (
        "import sys\n"
        "from memplan_gui.application import Settings, Theme, Window, QApplication\n"
        "from memplan_gui.document import PlanDocument\n"
        "app = QApplication([])\n"
        "window = Window(Theme(app), Settings(forgotten=True))\n"
        "window.show(); window.fill(PlanDocument()); window.answers.finish(); app.processEvents()\n"
        "unasked = ('pyqtgraph', 'yaml', 'memplan.exchange', 'memplan.diagnose', 'memplan.making_fit', 'memplan.fit',"
        " 'memplan.evidence', 'memplan.report', 'logging.handlers', 'difflib')\n"
        "print([name for name in unasked if name in sys.modules])"
    )
    assert printed(code) == "[]"


def test_a_window_looks_the_same_whether_it_is_made_under_the_style_sheet_or_gets_it_afterwards() -> None:
    code = (
        "from memplan_gui.application import Settings, Theme, Window, QApplication\n"
        "from memplan_gui.document import PlanDocument\n"
        "app = QApplication([])\n"
        "theme = Theme(app)\n"
        "def picture():\n"
        "    theme.take_style()\n"
        "    window = Window(theme, Settings(forgotten=True))\n"
        "    window.resize(1280, 800); window.show()\n"
        "    window.fill(PlanDocument()); window.answers.finish()\n"
        "    for _ in range(4): app.processEvents()\n"  # until all that wraps has its height
        "    image = window.grab().toImage(); window.hide()\n"
        "    return image\n"
        "bare = app.styleSheet()\n"
        "first = picture()\n"  # its parts stand when the sheet is put on
        "second = picture()\n"  # its parts are made under the sheet
        "sheet = app.styleSheet()\n"
        "app.setStyleSheet('')\n"
        "plain = picture()\n"  # its parts are made without one, and it never gets one
        "coloured = len({first.pixelColor(x, 400).name() for x in range(first.width())}) > 5\n"
        "print(bool(bare), bool(sheet), first == second, first == plain, coloured)"
    )
    assert printed(code) == "False True True False True"


def test_what_loads_at_the_start_is_not_read_for_features_of_pyside() -> None:
    code = (
        "import inspect, PySide6.QtCore\n"
        "from memplan_gui.unread_imports import unread_imports\n"
        "read = []\n"
        "inspect.getsource = lambda module: read.append(module.__name__) or ''\n"
        "with unread_imports():\n"
        "    import colorsys\n"
        "import wave\n"  # as everything would be
        "print([name for name in read if name in ('colorsys', 'wave')])"
    )
    assert printed(code) == "['wave']"


def printed(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return result.stdout.strip()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_screenshot_shows_the_window(tmp_path: Path, theme: str) -> None:
    picture, plan = tmp_path / "window.png", tmp_path / "p.memplan"
    save_plan(new_plan(), plan)
    result = run("--screenshot", str(picture), "--size", "1280x800", "--theme", theme, str(plan))
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    image = QImage(str(picture))
    assert (image.width(), image.height()) == (1280, 800)
    corner = image.pixelColor(1270, 790).lightness()
    assert corner > 200 if theme == "light" else corner < 60


def test_a_screenshot_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    result = run("--screenshot", str(tmp_path / "missing" / "w.png"))
    assert result.returncode == 2
    assert "folder does not exist" in result.stderr
    assert "Traceback" not in result.stderr


def test_arguments_are_read() -> None:
    assert options([]) is None
    assert options(["x.memplan"]) is None
    given = options(["--size", "800x600", "--theme", "dark", "x.memplan"])
    assert given is not None
    assert (given.size, given.theme, given.file) == ((800, 600), "dark", Path("x.memplan"))
    assert size("1280X800") == (1280, 800)


def test_wrong_arguments_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--size", "large"])
    assert ended.value.code == 2
    assert "write 1280x800" in capsys.readouterr().err


def test_the_first_start_opens_the_example() -> None:
    first = first_plan(None, [])
    assert first.is_example
    assert first.plan == example_plan()
    assert first.plan.scenarios[0].model.catalog == "meta-llama/Llama-3.1-8B"


def test_a_later_start_opens_the_latest_plan_or_the_example(tmp_path: Path) -> None:
    path = tmp_path / "p.memplan"
    save_plan(new_plan(), path)
    assert first_plan(None, [path]).path == path
    path.unlink()
    assert first_plan(None, [path]).plan == example_plan()


def test_a_bad_file_on_the_command_line_is_told_beside_the_example(tmp_path: Path) -> None:
    bad = tmp_path / "bad.memplan"
    bad.write_text("nonsense")
    first = first_plan(bad, [])
    assert "bad.memplan" in first.problem
    assert first.plan == example_plan()


def test_a_config_on_the_command_line_becomes_a_plan(tmp_path: Path) -> None:
    folder = tmp_path / "Tiny"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": 64}')
    first = first_plan(folder / "config.json", [])
    assert first.plan.title.startswith("Tiny")
    assert first.plan.scenarios[0].model.kind == "config"


@pytest.fixture
def started(qtbot: QtBot, qapp: Application, theme: Theme, settings: Settings) -> Iterator[Callable[[], Window]]:
    windows = Windows(theme, settings, keeps=False)
    qapp.file_wanted.connect(windows.open_file)

    def start() -> Window:
        start_up = windows.open_first(None)
        with qtbot.waitSignal(start_up.ready, timeout=20_000):
            windows.windows[0].show()
        return windows.windows[0]

    yield start
    qapp.file_wanted.disconnect(windows.open_file)
    for window in windows.windows:
        window.close_unasked()


def test_the_start_shows_the_answer_and_what_to_do_first(started: Callable[[], Window], settings: Settings) -> None:
    window = started()
    assert window.answer_panel.chart.plot is not None
    assert window.answer_panel.verdict.text
    assert window.answer_panel.notice.text == HINT
    window.answer_panel.notice._close.click()
    assert settings.knows_the_window


def test_a_file_that_the_system_hands_over_is_opened(
    started: Callable[[], Window], qapp: Application, tmp_path: Path
) -> None:
    path = tmp_path / "p.memplan"
    save_plan(new_plan(), path)
    window = started()
    qapp.sendEvent(qapp, QFileOpenEvent(QUrl.fromLocalFile(str(path))))
    assert window.document.path == path
    assert window.document.plan == load_plan(path)
