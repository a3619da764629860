#!/usr/bin/env bash
# Signs the application, has it notarised, and puts it into a disk image beside a link to Applications.
#
#     make_dmg.sh memplan.app VERSION FOLDER
#
# Signing runs where MEMPLAN_SIGNING_IDENTITY names a certificate of the keychain, notarising where MEMPLAN_NOTARY_PROFILE
# names a profile of `xcrun notarytool store-credentials` (in the keychain MEMPLAN_NOTARY_KEYCHAIN, where one is named);
# without them the image is made all the same, and says so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
app=$1 version=$2 out=$3
name=memplan-$version-macos-$(uname -m)

if [ -n "${MEMPLAN_SIGNING_IDENTITY:-}" ]; then
  codesign --force --deep --timestamp --options runtime --entitlements "$here/entitlements.plist" \
    --sign "$MEMPLAN_SIGNING_IDENTITY" "$app"
  codesign --verify --deep --strict "$app"
else
  echo "not signed: MEMPLAN_SIGNING_IDENTITY is not set" >&2
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -R "$app" "$folder/memplan.app"
ln -s /Applications "$folder/Applications"
hdiutil create -volname memplan -srcfolder "$folder" -fs HFS+ -format UDZO -ov "$out/$name.dmg"

if [ -n "${MEMPLAN_SIGNING_IDENTITY:-}" ] && [ -n "${MEMPLAN_NOTARY_PROFILE:-}" ]; then
  codesign --sign "$MEMPLAN_SIGNING_IDENTITY" "$out/$name.dmg"
  xcrun notarytool submit "$out/$name.dmg" --keychain-profile "$MEMPLAN_NOTARY_PROFILE" \
    ${MEMPLAN_NOTARY_KEYCHAIN:+--keychain "$MEMPLAN_NOTARY_KEYCHAIN"} --wait
  xcrun stapler staple "$out/$name.dmg"
else
  echo "not notarised: MEMPLAN_NOTARY_PROFILE is not set" >&2
fi
