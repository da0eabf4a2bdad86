//! Which endings do desktops run, browsers draw, and people trust?

/// Endings that a double click runs.
#[rustfmt::skip]
pub(super) const RUNS: &[&str] = &[
    "exe", "scr", "com", "pif", "bat", "cmd", "ps1", "vbs", "vbe", "js", "jse", "wsf", "wsh", "hta",
    "lnk", "msi", "msp", "cpl", "jar", "reg", "scf", "url", "desktop", "app", "apk", "gadget",
    "application", "inf", "chm", "iso", "img", "vhd", "xll", "appimage", "command", "dmg", "pkg",
    "appx", "appxbundle", "inetloc", "jnlp", "library-ms", "mjs", "msc", "msix", "msixbundle",
    "oxt", "ps1xml", "psm1", "pyz", "pyzw", "scpt", "terminal", "vb", "vbscript", "workflow", "ws",
    "wsc", "xlam", "xpi",
];

/// Endings that some desktops run and others show.
#[rustfmt::skip]
pub(super) const MAY_RUN: &[&str] = &[
    "bash", "ksh", "pl", "py", "pyw", "rb", "run", "sh", "zsh",
];

/// Endings that a browser draws, scripts and all.
#[rustfmt::skip]
pub(super) const DRAWS: &[&str] = &[
    "html", "htm", "xhtml", "xhtm", "xht", "shtml", "shtm", "ehtml", "svg", "mht", "mhtml",
];

/// Endings that people trust.
#[rustfmt::skip]
pub(super) const TRUSTED: &[&str] = &[
    "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "png", "jpg", "jpeg", "gif", "csv", "txt",
    "mp3", "mp4", "rtf", "odt", "webp", "bmp", "tsv", "json", "zip",
];
