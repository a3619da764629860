"""`make run` answers with a display and without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import run_example

REPOSITORY = Path(__file__).parents[2]
EXAMPLE = REPOSITORY / "resources" / "examples" / "llama-3.1-8b.memplan"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def test_a_platform_without_a_screen_is_no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert not run_example.has_display()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
@pytest.mark.parametrize("display", [None, ":987"])  # none set, and one that nothing answers at
def test_no_display_is_noticed(monkeypatch: pytest.MonkeyPatch, display: str | None) -> None:
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    if display:
        monkeypatch.setenv("DISPLAY", display)
    assert not run_example.has_display()


def test_without_a_display_the_estimate_is_printed_and_the_window_drawn(tmp_path: Path) -> None:
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", COLUMNS="100")
    result = subprocess.run(
        [sys.executable, str(REPOSITORY / "tools" / "run_example.py"), str(EXAMPLE)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("No display here")
    assert "GiB" in result.stdout
    picture = (tmp_path / "build" / "window.png").read_bytes()
    assert picture.startswith(PNG_SIGNATURE)
    assert len(picture) > 20_000  # an empty window of this size takes about 5 kB


def test_without_a_plan_it_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_example.main([]) == 2
    assert "run_example.py PLAN" in capsys.readouterr().err
