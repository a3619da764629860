; Installer for one person, without administrator's rights: program, start menu, .memplan files by double-click, uninstaller.
;
;   makensis -DVERSION=1.2.3 -DBUNDLE=path\to\memplan -DOUT=memplan-setup.exe -DICON=memplan.ico memplan.nsi
;
; Compiles on Linux too. Everything it writes is under the person's own folders and registry; the uninstaller takes all of
; it away and leaves plans where they are.

Unicode true
SetCompressor /SOLID lzma
ManifestDPIAware true
ManifestLongPathAware true
RequestExecutionLevel user

!include MUI2.nsh
!include FileFunc.nsh

Name "memplan"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\memplan"
InstallDirRegKey HKCU "Software\memplan" "InstallDir"
VIProductVersion "${VERSION}.0"
VIAddVersionKey ProductName "memplan"
VIAddVersionKey FileDescription "memplan installer"
VIAddVersionKey FileVersion "${VERSION}"
VIAddVersionKey ProductVersion "${VERSION}"
VIAddVersionKey LegalCopyright "MIT licence"

!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\memplan"
!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_FINISHPAGE_RUN "$INSTDIR\memplan-window.exe"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

Section "memplan"
  ; An older version's files must not stay between the new ones.
  IfFileExists "$INSTDIR\memplan-window.exe" 0 +2
    RMDir /r "$INSTDIR\_internal"
  SetOutPath "$INSTDIR"
  File /r "${BUNDLE}/*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\memplan.lnk" "$INSTDIR\memplan-window.exe"

  WriteRegStr HKCU "Software\Classes\.memplan" "" "memplan.plan"
  WriteRegStr HKCU "Software\Classes\.memplan" "Content Type" "application/x-memplan+json"
  WriteRegStr HKCU "Software\Classes\memplan.plan" "" "memplan plan"
  WriteRegStr HKCU "Software\Classes\memplan.plan\DefaultIcon" "" "$INSTDIR\memplan-window.exe,0"
  WriteRegStr HKCU "Software\Classes\memplan.plan\shell\open\command" "" '"$INSTDIR\memplan-window.exe" "%1"'

  WriteRegStr HKCU "Software\memplan" "InstallDir" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "memplan"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\memplan-window.exe"
  WriteRegStr HKCU "${UNINSTALL}" "Publisher" "the memplan authors"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" $0
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

Section "Uninstall"
  ; Only what was installed: the person may have chosen a folder that holds other things.
  RMDir /r "$INSTDIR\_internal"
  Delete "$INSTDIR\memplan.exe"
  Delete "$INSTDIR\memplan-window.exe"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\memplan.lnk"
  DeleteRegKey HKCU "Software\Classes\memplan.plan"
  ReadRegStr $0 HKCU "Software\Classes\.memplan" ""
  StrCmp $0 "memplan.plan" 0 +2
    DeleteRegKey HKCU "Software\Classes\.memplan"
  DeleteRegKey HKCU "Software\memplan"
  DeleteRegKey HKCU "${UNINSTALL}"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd
