"""Writes the version resource that Windows shows of a program, for PyInstaller.

python version_resource.py VERSION FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

TEMPLATE = """VSVersionInfo(
  ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}, mask=0x3f, flags=0, OS=0x40004, fileType=1, subtype=0),
  kids=[
    StringFileInfo([StringTable("040904B0", [
      StringStruct("CompanyName", "the memplan authors"),
      StringStruct("FileDescription", "memplan"),
      StringStruct("FileVersion", "{version}"),
      StringStruct("InternalName", "memplan"),
      StringStruct("LegalCopyright", "MIT licence"),
      StringStruct("OriginalFilename", "memplan.exe"),
      StringStruct("ProductName", "memplan"),
      StringStruct("ProductVersion", "{version}"),
    ])]),
    VarFileInfo([VarStruct("Translation", [1033, 1200])]),
  ],
)
"""


def resource_text(version: str) -> str:
    """The resource of a version such as 1.2.3; what follows a letter is left out of the numbers.

    >>> "filevers=(1, 2, 3, 0)" in resource_text("1.2.3")
    True
    """
    numbers = [int(part) for part in version.split(".") if part.isdecimal()][:4]
    return TEMPLATE.format(numbers=tuple(numbers + [0] * (4 - len(numbers))), version=version)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(resource_text(sys.argv[1]), encoding="utf-8")
