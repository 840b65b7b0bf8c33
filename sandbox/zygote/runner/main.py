"""Starts the runner. The fork servers for candidates and judges start before the first job arrives."""

import json
import os
import socket
import sys

from . import child, fork_server, imports, supervisor, system_calls, warm_up


def start(settings):
    """Serves the host until it closes. Returns in every forked child, with its order and its descriptors."""
    # Variables that a launcher adds to the given environment.
    for name in ("HOSTNAME", "PWD", "OLDPWD", "SHLVL", "LC_CTYPE", "LD_BIND_NOW"):
        os.environ.pop(name, None)
    # A judge and its candidate exchange files. An image may have set any mode on the folder.
    os.chmod(fork_server.TEMPORARY, 0o777)
    fork_server.hide()
    uid = _uid(settings["uid"])
    # With only one user, tests run as the candidate's user. The processes are then separated by being undumpable.
    judge_uid = uid if uid == os.getuid() else uid + 1
    servers = []
    for names in (imports.FEW, imports.MORE + settings["packages"]):
        found = imports.load(names)
        warm_up.rehearse()
        warm_up.shrink()
        for user in (uid, judge_uid):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            last = os.fork()
            if last == 0:
                for server in [*servers, ours]:
                    server.close()
                return fork_server.serve(theirs, user)
            theirs.close()
            servers.append(ours)
    for server in servers:
        server.send(b"%d" % (last if uid == os.getuid() else 0))
    packages = [name for name in settings["packages"] if name in found]
    guarded = system_calls.can_filter()
    greeting = {"python": sys.version.split()[0], "packages": packages, "guarded": guarded, "separate": judge_uid != uid}
    supervisor.send(json.dumps(greeting).encode())
    try:
        supervisor.Supervisor(servers, packages).serve()
    except supervisor.HostIsGone:
        pass
    os._exit(0)


def _uid(wanted):
    """Returns a user id that this process can switch to. A user namespace may have few of them, or only one."""
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
    """Runs the runner, and every child that is forked from it, until it ends."""
    order = start(settings)
    child.run(*order)
