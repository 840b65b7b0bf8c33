/** A piece of a test that may pass without a comparison. */
export interface Statement {
  readonly name: string;
  readonly code: string;
}

/** A solution that answers no test, named by the way in which a test could still pass. */
interface Attack {
  readonly name: string;
  readonly code: string;
}

/** Uses of iteration. Each passes for `honestLists`. */
export const iterationSetup = `import asyncio, collections, functools, itertools
CASES = {3: [12, 34], 4: [56, 78], 5: [90, 21]}
def right(x): return solve(x) == CASES[x]
def wrong(x): return solve(x) != CASES[x]
def check(x): assert solve(x) == CASES[x]
def refuse(*found): assert not found, found
`;

export const honestLists = "def solve(x): return {3: [12, 34], 4: [56, 78], 5: [90, 21]}[x]\n";

/** Iterations of a test that call the candidate in between. */
export const iterations: readonly Statement[] = [
  { name: "all of a map", code: "assert all(map(right, CASES))" },
  { name: "any of a map", code: "assert not any(map(wrong, CASES))" },
  { name: "zip with a map", code: "for got, wanted in zip(map(solve, CASES), CASES.values()): assert got == wanted" },
  { name: "enumerate", code: "for i, got in enumerate(map(solve, CASES)): assert got == list(CASES.values())[i]" },
  { name: "filter", code: "for x in filter(wrong, CASES): raise AssertionError(x)" },
  { name: "filter to a list", code: "assert list(filter(wrong, CASES)) == []" },
  { name: "filterfalse", code: "assert not list(itertools.filterfalse(right, CASES))" },
  { name: "a generator", code: "assert all(solve(x) == wanted for x, wanted in CASES.items())" },
  { name: "a comprehension", code: "assert [x for x in CASES if solve(x) != CASES[x]] == []" },
  { name: "a sum", code: "assert sum(map(wrong, CASES)) == 0" },
  { name: "a maximum", code: "assert max(map(lambda x: abs(solve(x)[0] - CASES[x][0]), CASES), default=0) == 0" },
  { name: "a set", code: "assert not set(map(str, map(solve, CASES))) - set(map(str, CASES.values()))" },
  { name: "starmap", code: "assert all(itertools.starmap(lambda x, wanted: solve(x) == wanted, CASES.items()))" },
  { name: "takewhile", code: "assert not list(itertools.takewhile(wrong, CASES))" },
  { name: "dropwhile", code: "assert not list(itertools.dropwhile(right, CASES))" },
  { name: "accumulate", code: "assert all(itertools.accumulate(map(right, CASES), lambda a, b: a and b))" },
  { name: "compress", code: "assert not list(itertools.compress(CASES, map(wrong, CASES)))" },
  { name: "chain", code: "for got in itertools.chain(map(solve, [3])): assert got == [12, 34]" },
  { name: "groupby", code: "for same, _ in itertools.groupby(CASES, right): assert same" },
  { name: "zip_longest", code: "for good, in itertools.zip_longest(map(right, CASES)): assert good" },
  { name: "a map to checks", code: "list(map(check, CASES))" },
  { name: "a deque", code: "collections.deque(map(check, CASES), 0)" },
  { name: "reduce", code: "assert functools.reduce(lambda a, b: a and b, map(right, CASES), True)" },
  { name: "next with a default", code: "assert next(map(solve, [3]), [12, 34]) == [12, 34]" },
  { name: "a call until a value", code: "for _ in iter(lambda: solve(3), [12, 34]): raise AssertionError" },
  { name: "arguments", code: "refuse(*filter(wrong, CASES))" },
  { name: "extend", code: "found = []\nfound.extend(filter(wrong, CASES))\nassert not found" },
  { name: "a join", code: "assert ''.join(map(str, filter(wrong, CASES))) == ''" },
  { name: "a subset", code: "assert set().issuperset(filter(wrong, CASES))" },
  { name: "in", code: "assert True not in map(wrong, CASES)" },
  {
    name: "an iterator of the test",
    code: `class Checks:
    def __init__(self): self.left = iter(CASES)
    def __iter__(self): return self
    def __next__(self):
        x = next(self.left)
        check(x)
for _ in Checks(): pass`,
  },
  {
    name: "yield from",
    code: "def checks():\n    yield from map(check, CASES)\nfor _ in checks(): pass",
  },
  {
    name: "an asynchronous iterator",
    code: `class Checks:
    def __init__(self): self.left = list(CASES)
    def __aiter__(self): return self
    async def __anext__(self):
        if not self.left: raise StopAsyncIteration
        check(self.left.pop())
async def run():
    async for _ in Checks(): pass
main = run()
try: main.send(None)
except StopIteration as end: assert end.value is None`,
  },
];

/** Ends of a call that a test's iteration, or Python, may not recognize as a failure. */
export const endings: readonly Attack[] = [
  { name: "StopIteration", code: "def solve(x): raise StopIteration" },
  { name: "StopIteration with the answer", code: "def solve(x): raise StopIteration([12, 34])" },
  { name: "an iterator's end", code: "def solve(x): return next(iter(()))" },
  { name: "a StopIteration of its own", code: "class End(StopIteration): pass\ndef solve(x): raise End" },
  {
    name: "a class of that name",
    code: "StopIteration = type('StopIteration', (Exception,), {})\ndef solve(x): raise StopIteration",
  },
  {
    name: "StopIteration after the first call",
    code: "def solve(x, n=[]):\n    if n: raise StopIteration\n    n.append(x)",
  },
  { name: "StopAsyncIteration", code: "def solve(x): raise StopAsyncIteration" },
  { name: "GeneratorExit", code: "def solve(x): raise GeneratorExit" },
  { name: "KeyboardInterrupt", code: "def solve(x): raise KeyboardInterrupt" },
  { name: "SystemExit", code: "def solve(x): raise SystemExit(0)" },
  { name: "IndexError", code: "def solve(x): raise IndexError" },
  { name: "AttributeError", code: "def solve(x): raise AttributeError" },
  { name: "NotImplementedError", code: "def solve(x): raise NotImplementedError" },
  { name: "NotImplemented", code: "def solve(x): return NotImplemented" },
  { name: "an AssertionError", code: "def solve(x): raise AssertionError" },
  { name: "SkipTest", code: "import unittest\ndef solve(x): raise unittest.SkipTest('skipped')" },
  { name: "CancelledError", code: "import asyncio\ndef solve(x): raise asyncio.CancelledError" },
  {
    name: "a function that ends its caller's iteration",
    code: "class Solve:\n    def __call__(self, x): raise StopIteration\nsolve = Solve()",
  },
  {
    name: "an object whose every operation ends an iteration",
    code: `class End:
    def stop(self, *_): raise StopIteration
    __getattr__ = __call__ = __len__ = __iter__ = __next__ = __getitem__ = __bool__ = __str__ = __eq__ = __ne__ = stop
    __hash__ = None
def solve(x): return End()`,
  },
];

/** Blocks of a `with` statement, which pass for `honestBlock`. */
export const blocks: readonly Statement[] = [
  { name: "an assert in a block", code: "with solve(3) as got: assert got.value == 12" },
  { name: "an error in a block", code: "with solve(3) as got: assert got.value + 1 == 13" },
  { name: "asserts in two blocks", code: "with solve(3) as a, solve(3) as b:\n    assert a.value == b.value == 12" },
  {
    name: "a stack of blocks",
    code: "import contextlib\nwith contextlib.ExitStack() as stack: assert stack.enter_context(solve(3)).value == 12",
  },
];

export const honestBlock = `class Block:
    value = 12
    def __enter__(self): return self
    def __exit__(self, *_): pass
def solve(x): return Block()
`;

const block = (value: string): string => `class Block:
    ${value}
    def __enter__(self): return self
    def __exit__(self, *_): return True
def solve(x): return Block()
`;

export const blockAttacks: readonly Attack[] = [
  { name: "a block that leaves out a wrong value", code: block("value = 1") },
  { name: "a block that leaves out a value of another type", code: block("value = None") },
  { name: "a block without a value", code: block("pass") },
  {
    name: "a block that leaves out what the candidate raises",
    code: block("@property\n    def value(self): raise ValueError"),
  },
  { name: "a block that ends an iteration", code: block("@property\n    def value(self): raise StopIteration") },
];

/** Statements about an array of one number, which pass for `honestArray`. */
export const arrayStatements: readonly Statement[] = [
  { name: "all", code: "assert (solve(3) == np.array([12])).all()" },
  { name: "np.all", code: "assert np.all(solve(3) == 12)" },
  { name: "reversed", code: "assert np.all(12 == solve(3))" },
  { name: "an array first", code: "assert (np.array([12]) == solve(3)).all()" },
  { name: "not any", code: "assert not (solve(3) != 12).any()" },
  { name: "allclose", code: "assert np.allclose(solve(3), 12.0)" },
  { name: "allclose of named operands", code: "assert np.allclose(b=solve(3), a=[12.0])" },
  { name: "isclose", code: "assert np.isclose(np.array([12]), solve(3)).all()" },
  { name: "array_equiv", code: "assert np.array_equiv(solve(3), 12)" },
  { name: "a difference", code: "assert (np.abs(solve(3) - 12) < 1e-6).all()" },
  { name: "a sum of differences", code: "assert np.abs(solve(3) - np.array([12])).sum() < 1e-6" },
  { name: "a norm", code: "assert np.linalg.norm(12 - solve(3)) < 1e-6" },
  { name: "a logical operation", code: "assert np.logical_and(solve(3) > 11, solve(3) < 13).all()" },
  { name: "testing.assert_allclose", code: "np.testing.assert_allclose(solve(3), 12)" },
  { name: "testing.assert_array_equal", code: "np.testing.assert_array_equal(solve(3), 12)" },
  { name: "testing.assert_almost_equal", code: "np.testing.assert_almost_equal(solve(3), 12)" },
  { name: "np.equal", code: "assert np.equal(solve(3), 12).all()" },
  { name: "equal into an array", code: "assert np.equal(solve(3), 12, out=np.ones_like(solve(3), bool)).all()" },
  { name: "in place", code: "got = solve(3)\ngot -= 12\nassert not got.any()" },
  { name: "a loop over the comparison", code: "for same in solve(3) == np.array([12]): assert same" },
];

export const arraySetup = "import numpy as np\n";
export const honestArray =
  "import numpy as np\ndef solve(x): return np.array([12] if x == 3 else [] if x == 0 else [[], []])\n";

/** Statements that pass for an empty array, which `honestArray` returns for 0. */
export const emptyStatements: readonly Statement[] = [
  { name: "no elements", code: "assert len(solve(0)) == 0 and solve(0).size == 0 and solve(0).shape == (0,)" },
  { name: "two rows", code: "assert solve(1).shape == (2, 0) and solve(1).tolist() == [[], []]" },
  { name: "array_equal", code: "assert np.array_equal(solve(0), np.array([]))" },
  { name: "array_equiv", code: "assert np.array_equiv(solve(0), [])" },
  { name: "all", code: "assert (solve(0) == np.array([])).all() and (solve(0) == []).all()" },
  { name: "allclose", code: "assert np.allclose(solve(0), []) and np.allclose([], solve(0), 1e-3)" },
  { name: "testing", code: "np.testing.assert_array_equal(solve(0), [])\nnp.testing.assert_allclose(solve(0), [])" },
  { name: "almost equal", code: "np.testing.assert_almost_equal(solve(0), np.array([]))" },
  { name: "a sum", code: "assert solve(0).sum() == 0 and not solve(0).any()" },
  { name: "a list", code: "assert list(solve(0)) == [] and solve(0).tolist() == []" },
  { name: "its type", code: "assert isinstance(solve(0), np.ndarray) and solve(0).dtype == float" },
  { name: "appended to", code: "assert np.append(solve(0), 3).tolist() == [3]" },
  { name: "put together", code: "assert np.concatenate([solve(0), [1, 2]]).tolist() == [1, 2]" },
];

const emptied = (value: string): string => `import numpy as np\ndef solve(x): return ${value}`;

export const arrayAttacks: readonly Attack[] = [
  { name: "no elements", code: emptied("np.array([])") },
  { name: "no numbers", code: emptied("np.array([], dtype=int)") },
  { name: "no texts", code: emptied("np.array([], dtype='U1')") },
  { name: "no objects", code: emptied("np.array([], dtype=object)") },
  { name: "no rows", code: emptied("np.zeros((0, 1))") },
  { name: "rows without elements", code: emptied("np.zeros((2, 0))") },
  { name: "a slice without elements", code: emptied("np.arange(5)[5:]") },
  { name: "a matrix without elements", code: emptied("np.matrix([])") },
  { name: "a masked array", code: emptied("np.ma.masked_all(1)") },
  { name: "no structures", code: emptied("np.array([], dtype='i4,i4')") },
  {
    name: "an array of a class of its own",
    code: "import numpy as np\nclass A(np.ndarray): pass\ndef solve(x): return np.array([]).view(A)",
  },
  {
    name: "an object without items",
    code: "class A:\n    def __len__(self): return 0\n    def __getitem__(self, i): raise IndexError\ndef solve(x): return A()",
  },
  {
    name: "items without items",
    code: "class A:\n    def __len__(self): return 1\n    def __getitem__(self, i): return [][i]\ndef solve(x): return A()",
  },
  {
    name: "an object that says it is an array",
    code: "import numpy as np\nclass A:\n    __array_priority__ = 1e9\n    def __array__(self, *_): return np.array([])\n    def __array_ufunc__(self, *_, **__): return np.array([])\ndef solve(x): return A()",
  },
  {
    name: "an object whose comparison has no elements",
    code: "import numpy as np\nclass A:\n    def __eq__(self, other): return np.array([])\n    __ne__ = __sub__ = __rsub__ = __eq__\n    def __len__(self): return 0\ndef solve(x): return A()",
  },
  { name: "an iterator without items", code: "def solve(x): return iter(())" },
];

/** Uses of comparisons of lists. Each passes for `honestList`. */
export const listSetup = `import itertools, operator, unittest
E = [12, 34]
def same(got, wanted): return all(a == b for a, b in zip(got, wanted))
class Loops(unittest.TestCase):
    def test_zip(self):
        for a, b in zip(solve(3), E): self.assertEqual(a, b)
    def test_items(self):
        for a in solve(3): self.assertIn(a, E)
    def test_index(self):
        got = solve(3)
        for i in range(len(got)):
            with self.subTest(i=i): self.assertEqual(got[i], E[i])
def run_test(name):
    result = unittest.TestResult()
    Loops(name).run(result)
    assert result.wasSuccessful() and result.testsRun == 1
class Results:
    def __getitem__(self, i):
        if i == len(E): raise IndexError
        return solve(3)[i]
`;

export const honestList = "def solve(x): return [12, 34] if x == 3 else x if isinstance(x, list) else []\n";

/** Comparisons of lists by loops and reductions. */
export const listStatements: readonly Statement[] = [
  { name: "a loop over zip", code: "for a, b in zip(solve(3), E): assert a == b" },
  { name: "zip, the other way round", code: "for a, b in zip(E, solve(3)): assert a == b" },
  { name: "zip with an iterator", code: "for a, b in zip(iter(E), solve(3)): assert a == b" },
  { name: "zip with a range", code: "for i, a in zip(range(2), solve(3)): assert E[i] == a" },
  { name: "zip of three", code: "assert all(E[i] == a == b for i, a, b in zip([0, 1], solve(3), E))" },
  { name: "zip of what is made of it", code: "assert all(a == b for a, b in zip(sorted(solve(3)), sorted(E)))" },
  { name: "zip of a comprehension", code: "assert all(a == b for a, b in zip([x for x in solve(3)], E))" },
  { name: "zip of a map", code: "assert all(a == b for a, b in zip(map(int, solve(3)), E))" },
  { name: "zip to a list", code: "assert not [1 for a, b in zip(solve(3), E) if a != b]" },
  { name: "a sum over zip", code: "assert sum(abs(a - b) for a, b in zip(solve(3), E)) == 0" },
  { name: "a zip in a function", code: "assert same(solve(3), E)" },
  { name: "a named zip", code: "pairs = zip(solve(3), E)\nassert all(a == b for a, b in pairs)" },
  { name: "a map of two", code: "assert all(map(operator.eq, solve(3), E))" },
  { name: "a starmap of zip", code: "assert all(itertools.starmap(operator.eq, zip(solve(3), E)))" },
  { name: "a loop by index", code: "got = solve(3)\nfor i in range(len(got)): assert got[i] == E[i]" },
  { name: "all by index", code: "got = solve(3)\nassert all(got[i] == E[i] for i in range(len(got)))" },
  { name: "a list by index", code: "got = solve(3)\nassert not [i for i in range(len(got)) if got[i] != E[i]]" },
  { name: "a loop over enumerate", code: "for i, a in enumerate(solve(3)): assert a == E[i]" },
  { name: "all over enumerate", code: "assert all(a == E[i] for i, a in enumerate(solve(3)))" },
  { name: "a loop over the items", code: "for a in solve(3): assert a in E" },
  { name: "a loop in a loop", code: "for x in (3, 3):\n    for a in solve(x): assert a in E" },
  { name: "a loop in a block", code: "if E:\n    for a in solve(3):\n        if a: assert a in E" },
  { name: "a while loop", code: "got, i = solve(3), 0\nwhile i < len(got):\n    assert got[i] == E[i]\n    i += 1" },
  { name: "a class that is iterated by index", code: "for a in Results(): assert a in E" },
  { name: "all of such a class", code: "assert len(list(Results())) == 2 and same(Results(), E)" },
  { name: "unittest, a loop over zip", code: "run_test('test_zip')" },
  { name: "unittest, a loop over the items", code: "run_test('test_items')" },
  { name: "unittest, a loop by index", code: "run_test('test_index')" },
];

export const listAttacks: readonly Attack[] = [
  { name: "no items", code: "def solve(x): return []" },
  { name: "an empty tuple", code: "def solve(x): return ()" },
  { name: "an empty text", code: "def solve(x): return ''" },
  { name: "an empty dict", code: "def solve(x): return {}" },
  { name: "an empty set", code: "def solve(x): return set()" },
  { name: "empty bytes", code: "def solve(x): return b''" },
  { name: "an empty range", code: "def solve(x): return range(0)" },
  { name: "an iterator without items", code: "def solve(x): return iter(())" },
  { name: "a generator without items", code: "def solve(x):\n    return\n    yield" },
  { name: "an empty deque", code: "import collections\ndef solve(x): return collections.deque()" },
  {
    name: "an object without items",
    code: "class A:\n    def __len__(self): return 0\n    def __iter__(self): return iter(())\n    def __getitem__(self, i): raise IndexError\ndef solve(x): return A()",
  },
  { name: "IndexError", code: "def solve(x): raise IndexError" },
];

/** Right answers without items, or with one, in tests that do not check them or compare them with nothing. */
export const fewStatements: readonly Statement[] = [
  { name: "sorted, no items", code: "got = solve(0)\nassert all(a <= b for a, b in zip(got, got[1:]))" },
  { name: "sorted, one item", code: "got = solve([7])\nassert all(a <= b for a, b in zip(got, got[1:]))" },
  { name: "sorted by index", code: "got = solve([7])\nassert all(got[i] <= got[i + 1] for i in range(len(got) - 1))" },
  {
    name: "sorted, of a copy",
    code: "got = list(solve([7]))\nassert all(a <= b for a, b in zip(sorted(got), sorted(got)[1:]))",
  },
  { name: "zip with nothing", code: "for a, b in zip(solve(0), []): assert a == b" },
  { name: "zip with a counter", code: "assert [a for _, a in zip(itertools.count(), solve(0))] == []" },
  { name: "a property of an empty value", code: "assert all(a > 0 for a in solve(0))" },
  { name: "a loop over nothing for nothing", code: "for a in solve(0): assert a > 0" },
  { name: "loops of which one has items", code: "for x in (1, [2]):\n    for a in solve(x): assert a > 0" },
  { name: "a loop next to an assertion", code: "got = solve(1)\nassert got == []\nfor a in got: assert a > 0" },
  { name: "a loop that must not be entered", code: "for a in solve(1): assert False, a" },
  { name: "a loop without assertions", code: "for a in solve(1): print(a)" },
  { name: "an index out of a test's class", code: "try: Results()[9]\nexcept IndexError: pass\nelse: assert False" },
  { name: "indices of a test's class", code: "assert 34 in Results() and list(Results()) == E" },
];

/** Statements that expect StopIteration of a call. They pass for `honestEnd`. */
export const expectedEnds: readonly Statement[] = [
  { name: "assertRaises", code: "with unittest.TestCase().assertRaises(StopIteration): solve(3)" },
  { name: "assertRaises of a call", code: "unittest.TestCase().assertRaises(StopIteration, solve, 3)" },
  { name: "assertRaises of several", code: "unittest.TestCase().assertRaises((KeyError, StopIteration), solve, 3)" },
  { name: "assertRaisesRegex", code: "unittest.TestCase().assertRaisesRegex(StopIteration, 'over', solve, 3)" },
  { name: "a handler", code: "try: solve(3)\nexcept StopIteration: pass\nelse: assert False" },
  { name: "a handler of several", code: "try: solve(3)\nexcept (KeyError, StopIteration): pass\nelse: assert False" },
  { name: "a handler that notes it", code: "ended = 0\ntry: solve(3)\nexcept StopIteration: ended = 1\nassert ended" },
];

export const honestEnd = "def solve(x): raise StopIteration('over')\n";

/** Statements about a list and an array. They pass for `honestList`. */
export const listAndArrayStatements: readonly Statement[] = [
  { name: "allclose", code: "assert np.allclose(solve(3), [12.0, 34.0])" },
  { name: "allclose of an array", code: "assert np.allclose(np.array([12]), solve(3)[:1])" },
  { name: "allclose, the other way round", code: "assert np.allclose([12.0], solve(3)[:1])" },
  { name: "allclose of a part and a number", code: "assert np.allclose(np.array(solve(3))[:1], [12.0])" },
  { name: "isclose", code: "assert np.isclose(np.array([12]), solve(3)[:1]).all()" },
  { name: "all", code: "assert (np.array([12]) == solve(3)[:1]).all()" },
  { name: "all, reversed", code: "assert (solve(3)[:1] == np.array([12])).all()" },
  { name: "not any", code: "assert not (np.array([12]) != solve(3)[:1]).any()" },
  { name: "an array of it", code: "assert (np.array(solve(3)[:1]) == np.array([12])).all()" },
  { name: "a difference", code: "assert (abs(np.array([12]) - solve(3)[:1]) < 1e-6).all()" },
  { name: "a sum of differences", code: "assert np.abs(np.array([12]) - np.array(solve(3)[:1])).sum() < 1e-6" },
  { name: "np.equal", code: "assert np.all(np.equal(solve(3)[:1], [12]))" },
  { name: "np.subtract", code: "assert not np.subtract(solve(3)[:1], [12]).any()" },
  { name: "array_equiv", code: "assert np.array_equiv(solve(3)[:1], [12])" },
  { name: "a loop over a comparison", code: "for same in np.array([12]) == solve(3)[:1]: assert same" },
  {
    name: "in a function",
    code: "def close(a, b): return bool(np.all(np.abs(np.asarray(a) - np.asarray(b)) < 1))\nassert close(solve(3), E)",
  },
];

/** Right answers without items, compared with arrays. */
export const fewItemsAndArrayStatements: readonly Statement[] = [
  { name: "nothing with nothing", code: "assert np.allclose(solve(0), []) and (np.array([]) == solve(0)).all()" },
  { name: "a difference of neighbours", code: "assert (np.diff(solve([7])) >= 0).all() and np.diff([7]).size == 0" },
  { name: "sorted, one item", code: "got = np.array(solve([7]))\nassert (got[1:] >= got[:-1]).all()" },
  { name: "no items with a number", code: "assert (np.array(solve(0)) >= 0).all()" },
  { name: "another length", code: "assert np.array(solve(0)).size + 1 == 1 and not np.array_equal(solve(0), [1])" },
];
