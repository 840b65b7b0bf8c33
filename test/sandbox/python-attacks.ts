/** The body of `solve`, in a few lines. */
function solve(...lines: readonly string[]): string {
  return ["def solve(x):", ...lines.map((line) => `    ${line}`)].join("\n");
}

/** Lines that try each action and continue. */
function each(...actions: readonly string[]): string {
  return [
    "import ctypes, os, signal, socket, sys",
    "libc = ctypes.CDLL(None, use_errno=True)",
    "def attempt(action):",
    "    try: action()",
    "    except BaseException: pass",
    solve(...actions.map((action) => `attempt(lambda: ${action})`), "return 1"),
  ].join("\n");
}

const kill = (target: string, signal: number): string => each(`os.kill(${target}, ${signal})`);

/**
 * Programs that attack what runs them: the parent process, the channels, and what the next job sees. Each defines
 * `solve`, which never returns 1234. None may pass, be unscored or change what the next job sees.
 */
export const pythonAttacks: readonly (readonly [name: string, code: string])[] = [
  ["kill the parent", kill("os.getppid()", 9)],
  ["kill everyone", kill("-1", 9)],
  ["kill every number", each("[os.kill(n, 9) for n in range(2, 40) if n != os.getpid()]")],
  [
    "kill every number, whatever each says",
    "import os\ndef solve(x):\n    for n in range(1, 400):\n        if n != os.getpid():\n            try: os.kill(n, 9)\n            except OSError: pass\n    return 1",
  ],
  [
    "kill every group",
    "import os\ndef solve(x):\n    for n in range(1, 400):\n        try: os.killpg(n, 9)\n        except OSError: pass\n    return 1",
  ],
  ["stop the parent", kill("os.getppid()", 19)],
  ["stop everyone", kill("-1", 19)],
  ["end the parent politely", kill("os.getppid()", 15)],
  ["kill itself", "import os\ndef solve(x):\n    os.kill(os.getpid(), 9)"],
  ["end itself politely", "import os\ndef solve(x):\n    os.kill(os.getpid(), 15)"],
  ["kill itself while it loads", "import os\nos.kill(os.getpid(), 9)\ndef solve(x): return 1"],
  ["kill the parent's group", each("os.killpg(os.getpgid(os.getppid()), 9)")],
  ["join the parent's group, then kill its own", each("os.setpgid(0, os.getpgid(os.getppid()))", "os.kill(0, 9)")],
  ["join group 2, then kill its own", each("os.setpgid(0, 2)", "os.kill(0, 9)")],
  [
    "kill a thread of the parent",
    each("libc.syscall(200, os.getppid(), 9)", "libc.syscall(234, os.getppid(), os.getppid(), 9)"),
  ],
  ["signal with information", each("libc.syscall(129, os.getppid(), 9, (ctypes.c_char * 128)())")],
  [
    "a descriptor of the parent",
    each(
      "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)",
      "signal.pidfd_send_signal(os.open('/proc/%d' % os.getppid(), 0), 9)",
    ),
  ],
  [
    "limits of the parent",
    each(
      "__import__('resource').prlimit(os.getppid(), 0, (0, 0))",
      "__import__('resource').prlimit(os.getppid(), 7, (3, 3))",
    ),
  ],
  [
    "input signals to the parent",
    "import fcntl, os, socket\ndef solve(x):\n    a, b = socket.socketpair()\n    for command in (8, 15):\n        try: fcntl.fcntl(a, command, os.getppid())\n        except (OSError, TypeError): pass\n    try: fcntl.ioctl(a, 0x8901, os.getppid().to_bytes(4, 'little'))\n    except OSError: pass\n    fcntl.fcntl(a, 10, 9)\n    fcntl.fcntl(a, 4, fcntl.fcntl(a, 3) | 0o20000)\n    b.send(b'x')\n    return 1",
  ],
  [
    "the parent slowed down",
    each(
      "os.setpriority(0, os.getppid(), 19)",
      "os.sched_setscheduler(os.getppid(), 5, os.sched_param(0))",
      "os.setpriority(2, 0, 19)",
    ),
  ],
  [
    "a new user namespace",
    each(
      "libc.syscall(56, 0x10000011, 0, 0, 0, 0) == 0 and os._exit(7)",
      "libc.syscall(435, (ctypes.c_ulong * 11)(0x10000000), 88)",
      "libc.unshare(0x10000000)",
    ),
  ],
  ["sockets of other families", each(...[2, 10, 16, 17, 38, 40].map((family) => `socket.socket(${family}, 2)`))],
  ["every descriptor closed", each("os.closerange(0, 256)")],
  ["every descriptor closed while it loads", "import os\nos.closerange(0, 256)\ndef solve(x): return 1"],
  ["input and output closed", each("sys.stdout.close()", "sys.stderr.close()", "sys.stdin.close()")],
  [
    "output led into a file",
    each("os.dup2(os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 1)", "os.dup2(1, 2)", "os.dup2(1, 0)", "print('x')"),
  ],
  [
    "output led into a pipe",
    each("(lambda p: [os.dup2(p[1], 1), os.dup2(p[0], 0), os.dup2(p[1], 2)])(os.pipe())", "print('x' * 100)"),
  ],
  ["endless output", solve("while True: print('x' * 10_000)")],
  ["endless errors", "import os\ndef solve(x):\n    while True: os.write(2, b'x' * 100_000)"],
  ["output, then closed", each("print('x' * 1_000_000)", "os.close(1)", "os.close(2)")],
  [
    "a file opened again for output",
    each(
      "[os.open('/dev/' + name, os.O_RDWR) for name in ('stdin', 'stdout', 'stderr')]",
      "os.close(0)",
      "os.open('/dev/null', 0)",
    ),
  ],
  [
    "the C library's streams closed",
    each("[libc.close(n) for n in range(8)]", "libc.fclose(ctypes.c_void_p.in_dll(libc, 'stdout'))"),
  ],
  [
    "descriptors that do not block",
    each("[os.set_blocking(n, False) for n in range(3)]", "[os.lseek(n, 9, 0) for n in range(3)]"),
  ],
  [
    "writes to every descriptor",
    'import os\ndef solve(x):\n    for n in range(256):\n        try: os.write(n, b\'\\x10\\0\\0\\0{"kind":"end"}\\n\' * 9)\n        except OSError: pass\n    return 1',
  ],
  [
    "writes to every device",
    "import glob, os\ndef solve(x):\n    for path in glob.glob('/dev/*'):\n        if path != '/dev/sleep':\n            try: os.write(os.open(path, os.O_RDWR | os.O_NONBLOCK), b'x\\n')\n            except OSError: pass\n    return 1",
  ],
  [
    "files in /dev and /dev/shm",
    each("open('/dev/left', 'w').write('x')", "open('/dev/shm/left', 'w').write('x')", "os.mkdir('/dev/mqueue/left')"),
  ],
  [
    "files of many kinds in /tmp",
    each(
      "os.mkfifo('/tmp/left')",
      "os.symlink('/', '/tmp/root')",
      "os.makedirs('/tmp/a/b/c')",
      "os.chmod('/tmp/a', 0)",
      "socket.socket(1).bind('/tmp/socket')",
    ),
  ],
  [
    "a thousand files",
    "import os\ndef solve(x):\n    for n in range(1000): open('/tmp/%d' % n, 'w').close()\n    os.chmod('/tmp', 0)\n    return 1",
  ],
  ["another folder and mask", each("os.mkdir('/tmp/here')", "os.chdir('/tmp/here')", "os.umask(0o777)")],
  ["/tmp moved away", each("os.rename('/tmp', '/work/x')", "os.rmdir('/tmp')", "os.rename('/work', '/tmp/work')")],
  [
    "built-ins replaced",
    "import builtins\nfor name in ('print', 'len', 'open', 'isinstance', 'type', 'str'):\n    setattr(builtins, name, lambda *a, **k: 1)\ndef solve(x): return 1",
  ],
  ["built-ins removed", "import builtins\nvars(builtins).clear()\ndef solve(x): return 1"],
  ["modules replaced", "import sys\nfor name in list(sys.modules): sys.modules[name] = None\ndef solve(x): return 1"],
  [
    "locale, time zone, environment",
    each(
      "os.environ.update(TZ='Asia/Tokyo', PYTHONHASHSEED='7')",
      "__import__('time').tzset()",
      "__import__('locale').setlocale(0, 'C')",
      "sys.setrecursionlimit(60)",
    ),
  ],
  [
    "integers of the interpreter overwritten",
    "import ctypes\ndef solve(x):\n    ctypes.c_int.from_address(id(1) + 24).value = 7\n    return 1",
  ],
  [
    "memory of the interpreter overwritten",
    "import ctypes\ndef solve(x):\n    ctypes.memset(id(solve) - 64, 255, 1 << 16)\n    return 1",
  ],
  [
    "threads that go on",
    "import threading\ndef go():\n    while True: pass\ndef solve(x):\n    for _ in range(3): threading.Thread(target=go, daemon=True).start()\n    return 1",
  ],
  [
    "children that go on",
    "import os\ndef solve(x):\n    for _ in range(5):\n        if os.fork() == 0:\n            os.closerange(0, 256)\n            while True: pass\n    return 1",
  ],
  [
    "children that are killed by turns",
    "import os, time\ndef solve(x):\n    while True:\n        pid = os.fork()\n        if pid == 0: time.sleep(9)\n        os.kill(pid, 9)\n        os.waitpid(pid, 0)",
  ],
  [
    "a stopped child",
    "import os, signal\ndef solve(x):\n    pid = os.fork()\n    if pid == 0:\n        os.kill(os.getpid(), signal.SIGSTOP)\n    return 1",
  ],
  ["no stack", "import sys\nsys.setrecursionlimit(10 ** 8)\ndef solve(x): return solve(x)"],
  [
    "an exception that cannot be shown",
    "class E(BaseException):\n    def __str__(self): raise self\n    __repr__ = __str__\ndef solve(x): raise E",
  ],
  ["an interrupt each time", "def solve(x):\n    raise KeyboardInterrupt"],
  [
    "a trace that exits",
    "import sys, os\ndef solve(x):\n    sys.settrace(lambda *a: os._exit(0))\n    return solve(x)",
  ],
  [
    "garbage that exits",
    "import gc, os\nclass D:\n    def __del__(self): os._exit(0)\nd = D()\nd.d = d\ndel d\ndef solve(x):\n    gc.collect()\n    return 1",
  ],
];
