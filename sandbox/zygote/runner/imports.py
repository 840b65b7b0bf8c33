"""Lists the modules that are imported before any job, so that children need not load them.

A fork takes longer the more memory its process has. Therefore there are two kinds of fork servers: one has the few
modules that most code imports, the other has all modules that code is likely to import.
"""

import importlib
import re

FEW = """
    abc binascii bisect cmath collections collections.abc copy functools heapq itertools json math operator os re string
    sys time types typing
""".split()

MORE = """
    argparse array ast base64 bz2 calendar contextlib csv dataclasses datetime decimal difflib enum fractions gc getpass
    glob gzip hashlib hmac html importlib inspect io keyword linecache locale logging numbers pathlib pickle platform
    pprint queue random secrets shutil signal sqlite3 statistics struct subprocess tempfile textwrap threading timeit
    tokenize traceback unicodedata unittest unittest.mock urllib.parse uuid warnings weakref xml.etree.ElementTree zlib
""".split()

_few = {name.partition(".")[0] for name in FEW}
_imports = re.compile(r"from\s+(\w+)[\w.]*\s+import|import\s+([^;#\\]*)")


def load(names):
    """Imports the modules that are installed and returns their names."""
    found = []
    for name in names:
        try:
            importlib.import_module(name)
            found.append(name)
        except ImportError:
            pass
    return found


def are_few(text, packages):
    """Returns whether a job, as JSON text, seems to import only modules of FEW. A wrong guess only costs time."""
    if "import" not in text:
        return True
    # In JSON, a line ends with a backslash and an n.
    for line in text.split("\\n"):
        for module, modules in _imports.findall(line) if "import" in line else ():
            names = {name.strip().partition(" ")[0].partition(".")[0] for name in modules.split(",")}
            if not _few.issuperset({module} if module else names):
                return False
    return not any(name in text for name in packages)
