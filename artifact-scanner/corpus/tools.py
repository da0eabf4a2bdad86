"""What does one scanner of Python's say of the files of a folder? `tools.py TOOL FOLDER`: the folder of each file it finds fault with, a line each.

Errors of a tool are no findings. Run by the interpreter that has the tool.
"""
import contextlib
import io
import logging
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)


def picklescan():
    from picklescan.scanner import scan_file_path

    return lambda path: scan_file_path(str(path)).issues_count > 0


def fickling():
    from fickling.analysis import Severity, check_safety
    from fickling.fickle import Pickled

    def found(path):
        with path.open("rb") as file:
            return check_safety(Pickled.load(file)).severity > Severity.LIKELY_SAFE

    return found


def modelscan():
    from modelscan.modelscan import ModelScan

    return lambda path: ModelScan().scan(path)["summary"]["total_issues"] > 0


def oletools():
    from oletools.olevba import VBA_Parser

    def found(path):
        document = VBA_Parser(str(path))
        # Any text is taken for source of macros.
        return document.type != "Text" and bool(document.detect_vba_macros())

    return found


def detect_secrets():
    from detect_secrets import SecretsCollection
    from detect_secrets.settings import default_settings

    def found(path):
        secrets = SecretsCollection()
        with default_settings():
            secrets.scan_file(str(path))
        return len(secrets.files) > 0

    return found


def main():
    tool, folder = sys.argv[1:]
    found = globals()[tool]()
    names = []
    for path in sorted(pathlib.Path(folder).glob("*/*")):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                if found(path):
                    names.append(path.parent.name)
            except (Exception, SystemExit, RecursionError):
                pass
    print("\n".join(names))


main()
