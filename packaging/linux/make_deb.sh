#!/usr/bin/env bash
# Puts a bundle into a Debian package: program, desktop entry, file type, icon, man page.
#
#     make_deb.sh BUNDLE VERSION FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bundle=$1 version=$2 out=$3
architecture=$(dpkg --print-architecture)
maintainer="the memplan authors <authors@memplan.invalid>"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

install -d "$root/opt" "$root/usr/bin" "$root/DEBIAN"
cp -a "$bundle" "$root/opt/memplan"
find "$root/opt" -name "*.so*" -type f -exec chmod 644 {} +  # libraries are loaded, not started
ln -s /opt/memplan/memplan "$root/usr/bin/memplan"
install -Dm644 "$here/memplan.desktop" "$root/usr/share/applications/memplan.desktop"
install -Dm644 "$here/memplan-mime.xml" "$root/usr/share/mime/packages/memplan.xml"
install -Dm644 "$here/../../resources/icons/memplan.svg" "$root/usr/share/icons/hicolor/scalable/apps/memplan.svg"
install -Dm644 "$here/../../resources/icons/memplan.svg" \
  "$root/usr/share/icons/hicolor/scalable/mimetypes/application-x-memplan+json.svg"
install -Dm644 "$here/../../LICENSE" "$root/usr/share/doc/memplan/copyright"
gzip -9nc "$here/../../CHANGELOG.md" | install -Dm644 /dev/stdin "$root/usr/share/doc/memplan/CHANGELOG.md.gz"
stamp=$(git -C "$here" log -1 --format=%ct 2> /dev/null || echo 0)
gzip -9nc <<CHANGELOG | install -Dm644 /dev/stdin "$root/usr/share/doc/memplan/changelog.gz"
memplan ($version) stable; urgency=medium

  * What is new stands in CHANGELOG.md.gz.

 -- $maintainer  $(date --utc --rfc-email --date "@$stamp")
CHANGELOG
install -Dm644 "$here/org.memplan.memplan.metainfo.xml" -t "$root/usr/share/metainfo"
install -Dm644 "$here/lintian-overrides" "$root/usr/share/lintian/overrides/memplan"
gzip -9nc "$here/memplan.1" | install -Dm644 /dev/stdin "$root/usr/share/man/man1/memplan.1.gz"

cat > "$root/DEBIAN/control" <<CONTROL
Package: memplan
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Section: science
Priority: optional
Installed-Size: $(du -sk "$root" | cut -f1)
Depends: libc6 (>= 2.35), libgcc-s1, libstdc++6 (>= 12), libgl1, libegl1, libdbus-1-3, libfontconfig1, libfreetype6, libglib2.0-0 | libglib2.0-0t64, libx11-6, libx11-xcb1, libxcb1, libxcb-randr0, libxcb-render0, libxcb-shm0, libxcb-sync1, libxcb-xfixes0, libxkbcommon0, libbz2-1.0, liblzma5, libuuid1, libzstd1, zlib1g
Recommends: fonts-dejavu-core | fonts-liberation, libwayland-client0, libwayland-cursor0, libwayland-egl1, shared-mime-info, desktop-file-utils
Suggests: libcups2
Description: plans the GPU memory of training a large language model
 Says before a run which instant of a training step is fullest, whether it fits
 a device, and what to change if it does not. Works offline.
CONTROL
(cd "$root" && find opt usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)  # `dpkg --verify memplan`
dpkg-deb --root-owner-group -Zxz -b "$root" "$out/memplan_${version}_$architecture.deb" > /dev/null
