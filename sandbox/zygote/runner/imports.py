"""What is imported before any job, so that no child has to load it.

A fork costs what its process has in memory. So there are two kinds of fork servers: one with the few modules that most
code imports, and one with everything else that is likely.
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
    """Imports what there is, and returns the names of it."""
    found = []
    for name in names:
        try:
            importlib.import_module(name)
            found.append(name)
        except ImportError:
            pass
    return found


def are_few(text, packages):
    """Whether a job, as JSON text, seems to import none but the few. A wrong guess costs time and nothing else."""
    if "import" not in text:
        return True
    # In JSON, a line ends with a backslash and an n.
    for line in text.split("\\n"):
        for module, modules in _imports.findall(line) if "import" in line else ():
            names = {name.strip().partition(" ")[0].partition(".")[0] for name in modules.split(",")}
            if not _few.issuperset({module} if module else names):
                return False
    return not any(name in text for name in packages)
