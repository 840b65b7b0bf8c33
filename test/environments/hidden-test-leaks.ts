/**
 * Code that carries what it sees of the tests into feedback. Each attack is a piece of Python that defines
 * `leak(seen)`. The functions under test call it. An attack may also run code while it is loaded. `{name}` is replaced
 * by the required name.
 */
export interface LeakAttack {
  readonly name: string;
  /** Source code before the functions. */
  readonly before: string;
  /** Source code after the functions, at the end of the load. */
  readonly after?: string;
}

const look = `import gc, os, re, sys
def everything():
    found = []
    frame = sys._getframe()
    while frame:
        found += [repr(dict(frame.f_locals)), repr(frame.f_code.co_consts)]
        frame = frame.f_back
    for fd in range(3, 10):
        try: found.append(os.pread(fd, 1 << 20, 0).decode("utf-8", "replace"))
        except OSError: pass
    for folder in ("/tmp", "/dev/shm", "/dev", "."):
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            try:
                if name.startswith("seen"): found.append(open(os.path.join(folder, name)).read())
            except OSError: pass
    return " ".join(found)
def secrets(text): return " ".join(sorted(set(re.findall("(?:VISIBLE|HIDDEN).{0,4}", text, re.I))))
def nonces():
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if type(value) is dict and type(value.get("nonce")) is str: return [value["nonce"]]
        frame = frame.f_back
    return ["0" * 32]
def leak(seen): pass
noted = []
`;

const report = (name: string, message: string): string =>
  `b"%s ${name} 0.001 %s\\n" % (nonce.encode(), json.dumps(${message}).encode())`;

const failed = `{"error": {"type": "E", "message": "saw " + str(noted)}}`;

/** The attacks. None contains the text of a test. */
export const leakAttacks: readonly LeakAttack[] = [
  {
    name: "raises all that it finds while it is loaded",
    before: look,
    after: "raise ValueError('saw ' + secrets(everything()))",
  },
  {
    name: "names a class after what it finds",
    before: look,
    after: "raise type('Saw' + re.sub(r'\\W', '_', secrets(everything())), (Exception,), {})",
  },
  { name: "exits with what it finds", before: look, after: "sys.exit('saw ' + secrets(everything()))" },
  {
    name: "raises what the garbage collector finds",
    before: `${look}
def held():
    return secrets(" ".join(repr(o) for o in gc.get_objects() if type(o) in (dict, list, tuple)))
`,
    after: "raise ValueError('saw ' + held())",
  },
  {
    name: "raises what it was called with",
    before: `${look}
def leak(seen):
    noted.append(seen)
    raise ValueError("saw %s" % noted)
`,
  },
  {
    name: "raises a class that is named after what it was called with",
    before: `${look}
def leak(seen):
    noted.append(re.sub(r"\\W", "_", str(seen)))
    raise type("Saw" + "_".join(noted), (Exception,), {})
`,
  },
  {
    name: "returns all arguments so far",
    before: `${look}
def leak(seen):
    noted.append(seen)
    noted.append(secrets(everything()))
    return str(noted)
`,
  },
  {
    name: "prints what it was called with",
    before: `${look}
def leak(seen):
    print(seen)
    print(seen, file=sys.stderr)
`,
  },
  {
    name: "writes a load error when it is called",
    before: `${look}
import json
def leak(seen):
    noted.append(seen)
    noted.append(secrets(everything()))
    for nonce in nonces():
        try: os.write(3, ${report("load", failed)})
        except OSError: pass
    os._exit(0)
`,
  },
  {
    name: "writes a load error with any nonce when it is called",
    before: `${look}
import json
nonce = "0" * 32
def leak(seen):
    noted.append(seen)
    if len(noted) == 1: return
    try: os.write(3, ${report("load", failed)})
    except OSError: pass
    os._exit(0)
`,
  },
  {
    name: "says that it is loaded, and then that it is not",
    before: `${look}
import json, select
`,
    after: `for nonce in nonces():
    try:
        os.write(3, b"%s loaded 0.000 {}\\n" % nonce.encode())
        if select.select([5], [], [], 0.3)[0]: os.read(5, 1)
    except OSError: pass
raise ValueError("saw " + secrets(everything()))
`,
  },
  {
    name: "answers the tests while it is loaded",
    before: `${look}
import json, select
`,
    after: `try:
    for turn in range(30):
        if not select.select([5], [], [], 0.3)[0]: break
        asked = os.read(5, 1 << 16).decode()
        noted.append(secrets(asked))
        os.write(5, b'{"value":{"object":%d,"kind":"function"}}\\n' % turn)
except OSError: pass
raise ValueError("saw %s" % noted)
`,
  },
  {
    name: "keeps what it was called with in files for its next run",
    before: `${look}
import json
def keep(text):
    for place in ("/tmp/seen", "/dev/shm/seen", "/dev/seen", "seen"):
        try:
            with open(place, "a") as file: file.write(text + " ")
        except OSError: pass
    if os.fork() == 0:
        os.setsid()
        __import__("time").sleep(0.05)
        for place in ("/tmp/seen2", "seen2"):
            try: open(place, "w").write(text)
            except OSError: pass
        os._exit(0)
def leak(seen):
    before = secrets(everything())
    try: keep(str(seen))
    except (OSError, AttributeError): pass
    raise ValueError("saw " + before)
`,
    after: "found = secrets(everything())\nif found: raise ValueError('saw ' + found)",
  },
  {
    name: "runs out of memory when it is called",
    before: `${look}
def leak(seen): raise MemoryError("saw %s" % seen)
`,
  },
  {
    name: "ends its process when it is called",
    before: `${look}
def leak(seen): os._exit(3)
`,
  },
  {
    name: "writes garbage to every descriptor when it is called",
    before: `${look}
def leak(seen):
    for fd in range(3, 20):
        try: os.write(fd, b"saw %s\\n" % str(seen).encode())
        except OSError: pass
`,
  },
  {
    name: "does not load if it sees a test, and says which",
    before: `${look}
def leak(seen):
    noted.append(seen)
    raise SyntaxError("saw %s" % noted)
`,
    after: "found = secrets(everything())\nif found: raise SyntaxError('saw ' + found)",
  },
];
