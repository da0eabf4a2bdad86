"""What does one scanner of Python's say of the files of a folder? `tools.py TOOL FOLDER`: the folder of each file it finds fault with, a line each.

Where a tool fails, or takes more than 20 s of CPU for one file, it finds nothing; how often that was is the last line. Run
by the interpreter that has the tool.
"""
import contextlib
import io
import logging
import pathlib
import signal
import sys
import warnings

FILE_SECONDS_MAX = 20

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


def parser(path):
    from oletools.olevba import VBA_Parser

    document = VBA_Parser(str(path))
    # Any text is taken for source of macros.
    return document if document.type != "Text" and document.detect_vba_macros() else None


def olevba():
    """A document with macros, whatever they do."""
    return lambda path: parser(path) is not None


def mraptor():
    """Macros that start by themselves and write or run something."""
    from oletools.mraptor import MacroRaptor

    def found(path):
        document = parser(path)
        if document is None:
            return False
        raptor = MacroRaptor(document.get_vba_code_all_modules())
        raptor.scan()
        return raptor.suspicious

    return found


def msodde():
    """Fields that start a program."""
    from oletools.msodde import process_file

    return lambda path: bool(process_file(str(path), "only blacklisted fields").strip())


def rtfobj():
    """Objects within an RTF."""
    from oletools.rtfobj import RtfObjParser

    def found(path):
        content = path.read_bytes()
        if not content.lstrip().startswith(b"{\\rt"):
            return False
        objects = RtfObjParser(content)
        objects.parse()
        return len(objects.objects) > 0

    return found


def oletools():
    """Any of its four programs."""
    alone = [olevba(), msodde(), rtfobj()]

    def found(path):
        for one in alone:
            with contextlib.suppress(Exception):
                if one(path):
                    return True
        return False

    return found


def pdfid():
    """A word of those that make a PDF act, by its own list of what is risky."""
    from pdfid.pdfid import PDFiD

    words = {"/JS", "/JavaScript", "/AA", "/OpenAction", "/AcroForm", "/JBIG2Decode", "/RichMedia", "/Launch", "/EmbeddedFile", "/XFA"}

    def found(path):
        document = PDFiD(str(path)).documentElement
        if document.getAttribute("IsPDF") != "True":
            return False
        keywords = document.getElementsByTagName("Keyword")
        return any(word.getAttribute("Name") in words and int(word.getAttribute("Count")) > 0 for word in keywords)

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


def late(*_):
    raise TimeoutError


def main():
    tool, folder = sys.argv[1:]
    found = globals()[tool]()
    signal.signal(signal.SIGPROF, late)
    names, failed = [], 0
    for path in sorted(pathlib.Path(folder).glob("*/*")):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                signal.setitimer(signal.ITIMER_PROF, FILE_SECONDS_MAX)
                if found(path):
                    names.append(path.parent.name)
            except (Exception, SystemExit, RecursionError):
                failed += 1
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    print("\n".join(names))
    print(f"failed {failed}")


main()
