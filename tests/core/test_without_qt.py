"""Neither the library nor the command line loads Qt, whatever way the import is written."""

from __future__ import annotations

import subprocess
import sys

import pytest

NOT_FOR_THE_CORE = ("PySide6", "shiboken6", "pyqtgraph", "memplan_gui", "torch")


@pytest.mark.parametrize("statement", ["import memplan", "import memplan.cli"])
def test_importing_the_core_loads_no_qt(statement: str) -> None:
    code = f"{statement}\nimport sys\nprint([name for name in {NOT_FOR_THE_CORE!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"
