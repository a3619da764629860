"""The scripts under packaging/, which is no package: it must not hide PyPI's `packaging`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"


def module(name: str) -> ModuleType:
    """The script of that name, as a module."""
    spec = importlib.util.spec_from_file_location(f"packaging_{name.replace('/', '_')}", PACKAGING / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found
