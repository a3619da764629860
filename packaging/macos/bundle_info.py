"""What macOS is told of the application: its name, its files, and what it needs."""

from __future__ import annotations

from typing import Any

IDENTIFIER = "org.memplan.memplan"
PLAN_TYPE = f"{IDENTIFIER}.plan"


def info_plist(version: str) -> dict[str, Any]:
    """The entries of Info.plist beyond those that PyInstaller writes itself.

    >>> info_plist("1.2.3")["CFBundleShortVersionString"]
    '1.2.3'
    """
    return {
        "CFBundleName": "memplan",
        "CFBundleDisplayName": "memplan",
        "CFBundleShortVersionString": version,
        "CFBundleVersion": version,
        "LSMinimumSystemVersion": "13.0",
        "LSApplicationCategoryType": "public.app-category.developer-tools",
        "NSHighResolutionCapable": True,
        "NSRequiresAquaSystemAppearance": False,  # dark as the system is
        "NSHumanReadableCopyright": "MIT licence",
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "memplan plan",
                "CFBundleTypeRole": "Editor",
                "LSHandlerRank": "Owner",
                "LSItemContentTypes": [PLAN_TYPE],
            }
        ],
        "UTExportedTypeDeclarations": [
            {
                "UTTypeIdentifier": PLAN_TYPE,
                "UTTypeDescription": "memplan plan",
                "UTTypeConformsTo": ["public.json"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": ["memplan"],
                    "public.mime-type": ["application/x-memplan+json"],
                },
            }
        ],
    }
