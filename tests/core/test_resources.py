"""memplan finds its data files in every kind of installation."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from memplan import resources
from memplan.errors import MemplanError

REPOSITORY = Path(__file__).parents[2]


def module_in(package: Path) -> ModuleType:
    """The module `memplan.resources` as it would be, had memplan been installed in that folder."""
    package.mkdir(parents=True)
    copy = shutil.copy(resources.__file__, package / "resources.py")
    spec = importlib.util.spec_from_file_location("memplan_resources_elsewhere", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("here", encoding="utf-8")
    return path


def test_a_checkout_holds_them_beside_the_code() -> None:
    assert resources.resource("catalog", "models.json") == REPOSITORY / "resources" / "catalog" / "models.json"
    assert resources.resource("catalog").is_dir()


def test_a_wheel_holds_them_inside_the_package(tmp_path: Path) -> None:
    installed = module_in(tmp_path / "site-packages" / "memplan")
    inside = write(tmp_path / "site-packages" / "memplan" / "resources" / "catalog" / "models.json")
    assert installed.resource("catalog", "models.json") == inside


def test_the_package_s_own_folder_wins_over_one_that_happens_to_stand_above(tmp_path: Path) -> None:
    installed = module_in(tmp_path / "lib" / "site-packages" / "memplan")
    inside = write(tmp_path / "lib" / "site-packages" / "memplan" / "resources" / "a.json")
    write(tmp_path / "lib" / "resources" / "a.json")
    assert installed.resource("a.json") == inside


def test_a_frozen_application_holds_them_in_its_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = write(tmp_path / "resources" / "catalog" / "models.json")
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    assert resources.resource("catalog", "models.json") == inside


def test_a_missing_file_is_told_with_its_place_and_the_remedy() -> None:
    with pytest.raises(MemplanError) as caught:
        resources.resource("catalog", "planets.json")
    assert str(caught.value).endswith(
        "planets.json: this file of memplan's own is missing. The installation is incomplete: install memplan again."
    )
    assert Path(caught.value.place).parts[-3:] == ("resources", "catalog", "planets.json")


def test_a_bundle_without_its_files_does_not_look_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    with pytest.raises(MemplanError) as caught:
        resources.resource("catalog", "models.json")
    assert caught.value.place == str(tmp_path / "resources" / "catalog" / "models.json")
