"""Starts the runner: two fork servers, one for candidates and one for judges, before any job is there."""

import gc
import importlib
import json
import os
import socket

from . import child, fork_server, supervisor

# What solutions and tests import, so that no child has to load it.
_MODULES = """
    abc argparse array ast base64 binascii bisect bz2 calendar cmath collections collections.abc contextlib copy csv
    dataclasses datetime decimal difflib enum fractions functools gc getpass glob gzip hashlib heapq hmac html
    importlib inspect io itertools json keyword linecache locale logging math numbers operator os pathlib pickle
    platform pprint queue random re secrets shutil signal sqlite3 statistics string struct subprocess sys tempfile
    textwrap threading time timeit tokenize traceback types typing unicodedata unittest unittest.mock urllib.parse
    uuid warnings weakref xml.etree.ElementTree zlib
""".split()


def start(settings):
    """Serves the host until it is gone. Returns in every forked child, with its order and its descriptors."""
    for name in _MODULES:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    # What a launcher adds to the environment that it was given.
    for name in ("HOSTNAME", "PWD", "OLDPWD", "SHLVL", "LC_CTYPE"):
        os.environ.pop(name, None)
    # A judge and its candidate hand each other files; an image may have given the folder any mode.
    os.chmod(fork_server.TEMPORARY, 0o777)
    greeting = supervisor.ready(settings["packages"])
    fork_server.hide()
    gc.collect()
    gc.freeze()
    servers = []
    for _ in range(2):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            for server in servers:
                server.close()
            ours.close()
            # Neither the host's end nor anything of the supervisor's.
            empty = os.open("/dev/null", os.O_RDWR)
            for descriptor in (0, 1):
                os.dup2(empty, descriptor)
            os.close(empty)
            return fork_server.serve(theirs)
        theirs.close()
        servers.append(ours)
    supervisor.send(json.dumps(greeting).encode())
    try:
        supervisor.Supervisor(*servers, _uid(settings["uid"])).serve()
    except supervisor.HostIsGone:
        pass
    os._exit(0)


def _uid(wanted):
    """A user that this process can turn into: in a user namespace there may be few, or only one."""
    if os.getuid() != 0:
        return os.getuid()
    with open("/proc/self/uid_map") as file:
        for line in file:
            first, _, count = map(int, line.split())
            if first <= wanted < first + count - 1:
                return wanted
            if count > 4096:
                return first + 1024 + wanted % (count - 2048)
    return 0


def run(settings):
    """The whole life of the runner, and of every child that is forked from it."""
    order = start(settings)
    child.run(*order)
