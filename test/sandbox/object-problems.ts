/** A problem whose tests use objects, functions or iterators, and its right solution. */
export interface ObjectProblem {
  readonly name: string;
  readonly prompt?: string;
  readonly entryPoint: string;
  readonly tests: readonly string[];
  readonly solution: string;
}

/** Problems whose solutions pass their tests in CPython. */
export const objectProblems: readonly ObjectProblem[] = [
  {
    name: "dataclass ==",
    entryPoint: "Point",
    tests: ["assert Point(1, 2) == Point(1, 2)", "assert Point(1, 2) != Point(2, 1)"],
    solution: `from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int
`,
  },
  {
    name: "dataclass +",
    entryPoint: "Point",
    tests: ["assert Point(1, 2) + Point(3, 4) == Point(4, 6)", "assert (Point(1, 2) + Point(3, 4)).x == 4"],
    solution: `from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int
    def __add__(self, o): return Point(self.x + o.x, self.y + o.y)
`,
  },
  {
    name: "dataclass <",
    entryPoint: "Card",
    tests: [
      "assert Card(1) < Card(2)",
      "assert not Card(2) < Card(1)",
      "assert sorted([Card(3), Card(1)])[0].rank == 1",
    ],
    solution: `from dataclasses import dataclass
@dataclass(order=True)
class Card:
    rank: int
`,
  },
  {
    name: "returned object ==",
    entryPoint: "midpoint",
    tests: ["assert midpoint(Point(0, 0), Point(2, 4)) == Point(1, 2)"],
    solution: `from dataclasses import dataclass
@dataclass
class Point:
    x: float
    y: float
def midpoint(a, b): return Point((a.x + b.x) / 2, (a.y + b.y) / 2)
`,
  },
  {
    name: "lambda argument",
    entryPoint: "apply",
    tests: ["assert apply(lambda x: x + 1, 3) == 4"],
    solution: `def apply(f, x): return f(x)
`,
  },
  {
    name: "key function",
    entryPoint: "sort_by",
    tests: ["assert sort_by(['bb', 'a'], key=len) == ['a', 'bb']"],
    solution: `def sort_by(xs, key): return sorted(xs, key=key)
`,
  },
  {
    name: "named function",
    entryPoint: "compose",
    tests: [
      `def double(x): return 2 * x
assert compose(double, double)(3) == 12`,
    ],
    solution: `def compose(f, g): return lambda x: f(g(x))
`,
  },
  {
    name: "closure",
    entryPoint: "adder",
    tests: ["assert adder(2)(3) == 5"],
    solution: `def adder(n): return lambda x: x + n
`,
  },
  {
    name: "generator",
    entryPoint: "count",
    tests: ["assert list(count(3)) == [0, 1, 2]", "assert next(count(1)) == 0"],
    solution: `def count(n):
    for i in range(n): yield i
`,
  },
  {
    name: "iterator argument",
    entryPoint: "first",
    tests: ["assert first(iter([1, 2])) == 1"],
    solution: `def first(xs): return next(iter(xs))
`,
  },
  {
    name: "Fraction",
    entryPoint: "half",
    tests: ["assert half(1) == 0.5"],
    solution: `from fractions import Fraction
def half(x): return Fraction(x, 2)
`,
  },
  {
    name: "Fraction int",
    entryPoint: "half",
    tests: ["assert half(4) == 2"],
    solution: `from fractions import Fraction
def half(x): return Fraction(x, 2)
`,
  },
  {
    name: "Decimal",
    entryPoint: "half",
    tests: ["assert half(1) == 0.5"],
    solution: `from decimal import Decimal
def half(x): return Decimal(x) / 2
`,
  },
  {
    name: "IntEnum",
    entryPoint: "color",
    tests: ["assert color('red') == 1"],
    solution: `from enum import IntEnum
class Color(IntEnum):
    RED = 1
def color(n): return Color[n.upper()]
`,
  },
  {
    name: "IntEnum judge",
    entryPoint: "color",
    tests: ["assert color('red') == Color.RED and color('red').name == 'RED' and color('red') + 1 == 2"],
    solution: `from enum import IntEnum
class Color(IntEnum):
    RED = 1
def color(n): return Color[n.upper()]
`,
  },
  {
    name: "Enum",
    entryPoint: "color",
    tests: ["assert color('red') == Color.RED", "assert color('red') is Color.RED and color('red').value == 1"],
    solution: `from enum import Enum
class Color(Enum):
    RED = 1
def color(n): return Color[n.upper()]
`,
  },
  {
    name: "namedtuple",
    entryPoint: "P",
    tests: ["assert P(1, 2) == (1, 2)", "assert P(1, 2).x == 1"],
    solution: `from collections import namedtuple
P = namedtuple('P', 'x y')
`,
  },
  {
    name: "int subclass",
    entryPoint: "wrap",
    tests: ["assert wrap(3) == 3"],
    solution: `class N(int): pass
def wrap(x): return N(x)
`,
  },
  {
    name: "str subclass",
    entryPoint: "wrap",
    tests: ["assert wrap('a') == 'a'", "for c in 'ab': assert wrap(c) == c"],
    solution: `class N(str): pass
def wrap(x): return N(x)
`,
  },
  {
    name: "list subclass",
    entryPoint: "wrap",
    tests: ["assert wrap([1]) == [1]"],
    solution: `class N(list): pass
def wrap(x): return N(x)
`,
  },
  {
    name: "dict subclass",
    entryPoint: "wrap",
    tests: ["assert wrap({'a': 1}) == {'a': 1}"],
    solution: `class N(dict): pass
def wrap(x): return N(x)
`,
  },
  {
    name: "float in list",
    entryPoint: "wrap",
    tests: ["assert wrap(1) == [1.5]"],
    solution: `class N(float): pass
def wrap(x): return [N(1.5)]
`,
  },
  {
    name: "datetime",
    entryPoint: "day",
    tests: [
      `import datetime
assert day(2020) == datetime.date(2020, 1, 1)`,
    ],
    solution: `import datetime
def day(y): return datetime.date(y, 1, 1)
`,
  },
  {
    name: "set of objects",
    entryPoint: "Point",
    tests: ["assert len({Point(1), Point(1), Point(2)}) == 2"],
    solution: `from dataclasses import dataclass
@dataclass(frozen=True)
class Point:
    x: int
`,
  },
  {
    name: "objects in list",
    entryPoint: "points",
    tests: ["assert points(2) == [Point(0), Point(1)]", "assert Point(1) in points(2)"],
    solution: `from dataclasses import dataclass
@dataclass(frozen=True)
class Point:
    x: int
def points(n): return [Point(i) for i in range(n)]
`,
  },
  {
    name: "repr",
    entryPoint: "Point",
    tests: ["assert repr(Point(1)) == 'Point(x=1)'", "assert str(Point(1)) == 'Point(x=1)'"],
    solution: `from dataclasses import dataclass
@dataclass(frozen=True)
class Point:
    x: int
`,
  },
  {
    name: "len, bool, contains, index",
    entryPoint: "Bag",
    tests: [
      `b = Bag([1, 2])
assert len(b) == 2 and b and 1 in b and b[0] == 1 and list(b) == [1, 2]`,
    ],
    solution: `class Bag:
    def __init__(self, xs): self.xs = xs
    def __len__(self): return len(self.xs)
    def __getitem__(self, i): return self.xs[i]
    def __contains__(self, x): return x in self.xs
`,
  },
  {
    name: "scalar times object",
    entryPoint: "V",
    tests: [
      "assert V(1, 2) * 2 == V(2, 4)",
      "assert 2 * V(1, 2) == V(2, 4)",
      "assert abs(V(3, 4)) == 5",
      "assert -V(1, 2) == V(-1, -2)",
    ],
    solution: `class V:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, o): return isinstance(o, V) and (self.x, self.y) == (o.x, o.y)
    def __mul__(self, k): return V(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __abs__(self): return (self.x ** 2 + self.y ** 2) ** .5
    def __neg__(self): return V(-self.x, -self.y)
`,
  },
  {
    name: "class of the prompt",
    prompt: `from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int

def shift(p):
    '''Adds one.'''
`,
    entryPoint: "shift",
    tests: ["assert shift(Point(1, 2)) == Point(2, 3)"],
    solution: `from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int

def shift(p):
    '''Adds one.'''
    return Point(p.x + 1, p.y + 1)
`,
  },
  {
    name: "compose",
    entryPoint: "compose",
    tests: [
      `def double(x): return 2 * x
assert compose(double, double)(3) == 12`,
    ],
    solution: `def compose(f, g): return lambda x: f(g(x))
`,
  },
  {
    name: "fold",
    entryPoint: "fold",
    tests: [
      `import operator
assert fold(operator.add, [1, 2, 3], 0) == 6`,
      "assert fold(lambda a, b: a * b, [1, 2, 3, 4], 1) == 24",
    ],
    solution: `def fold(f, xs, a):
    for x in xs: a = f(a, x)
    return a
`,
  },
  {
    name: "callback order",
    entryPoint: "each",
    tests: [
      `seen = []
each([1, 2], seen.append)
assert seen == [1, 2]`,
    ],
    solution: `def each(xs, f):
    for x in xs: f(x)
`,
  },
  {
    name: "memoize",
    entryPoint: "memoize",
    tests: [
      `calls = []
def f(x):
    calls.append(x)
    return x * x
g = memoize(f)
assert g(3) == 9 and g(3) == 9 and calls == [3]`,
    ],
    solution: `def memoize(f):
    seen = {}
    def g(x):
        if x not in seen: seen[x] = f(x)
        return seen[x]
    return g
`,
  },
  {
    name: "decorator",
    entryPoint: "retry",
    tests: [
      `n = []
@retry
def f():
    n.append(1)
    if len(n) < 3: raise ValueError('no')
    return 'ok'
assert f() == 'ok' and len(n) == 3`,
    ],
    solution: `def retry(f):
    def g(*a):
        while True:
            try: return f(*a)
            except ValueError: pass
    return g
`,
  },
  {
    name: "nested callback",
    entryPoint: "twice",
    tests: ["assert twice(lambda x: twice(lambda y: y + 1, x), 0) == 4"],
    solution: `def twice(f, x): return f(f(x))
`,
  },
  {
    name: "endless iterator",
    entryPoint: "take",
    tests: [
      `import itertools
assert list(take(itertools.count(), 3)) == [0, 1, 2]`,
    ],
    solution: `def take(xs, n):
    for x in xs:
        if n == 0: return
        n -= 1
        yield x
`,
  },
  {
    name: "same function",
    entryPoint: "same",
    tests: [
      `f = lambda: 1
assert same(f) is f`,
    ],
    solution: `def same(f): return f
`,
  },
  {
    name: "error of a callback",
    entryPoint: "safe",
    tests: [
      `def f(): raise KeyError('k')
assert safe(f) == 'KeyError'`,
    ],
    solution: `def safe(f):
    try: f()
    except Exception as e: return type(e).__name__
`,
  },
  {
    name: "predicate on objects",
    entryPoint: "pick",
    tests: ["assert pick([Item(1), Item(5)], lambda i: i.n > 2).n == 5"],
    solution: `class Item:
    def __init__(self, n): self.n = n
def pick(xs, p): return next(x for x in xs if p(x))
`,
  },
  {
    name: "table of dataclasses",
    entryPoint: "add",
    tests: [
      `for a, b, want in [(P(1), P(2), P(3)), (P(0), P(0), P(0))]:
    assert add(a, b) == want`,
    ],
    solution: `from dataclasses import dataclass
@dataclass
class P:
    x: int
def add(a, b): return P(a.x + b.x)
`,
  },
  {
    name: "cents",
    entryPoint: "Money",
    tests: ["assert Money(1.5) + Money(2) == Money(3.5)", "assert Money(1) != Money(2)"],
    solution: `class Money:
    def __init__(self, d): self.cents = round(d * 100)
    def __eq__(self, o): return self.cents == o.cents
    def __add__(self, o): return Money((self.cents + o.cents) / 100)
`,
  },
  {
    name: "copy",
    entryPoint: "P",
    tests: [
      `p = P([1, 2])
assert p.copy() == p and p.copy() is not p`,
    ],
    solution: `class P:
    def __init__(self, xs): self.xs = xs
    def copy(self): return P(list(self.xs))
    def __eq__(self, o): return self.xs == o.xs
`,
  },
  {
    name: "linked list",
    entryPoint: "reverse",
    tests: [
      `def make(*xs):
    head = None
    for x in reversed(xs): head = Node(x, head)
    return head
assert reverse(make(1, 2, 3)) == make(3, 2, 1)`,
    ],
    solution: `from dataclasses import dataclass
@dataclass
class Node:
    value: int
    next: object = None
def reverse(n):
    out = None
    while n: out, n = Node(n.value, out), n.next
    return out
`,
  },
  {
    name: "stack subclass",
    entryPoint: "Stack",
    tests: [
      `s = Stack()
s.push(1)
s.push(2)
assert s == [1, 2] and s.pop() == 2 and s == [1] and len(s) == 1`,
    ],
    solution: `class Stack(list):
    def push(self, x): self.append(x)
`,
  },
  {
    name: "named tuples sorted",
    entryPoint: "P",
    tests: ["assert sorted([P(2, 1), P(1, 2)]) == [P(1, 2), P(2, 1)] and P(1, 2)._replace(x=5).x == 5"],
    solution: `from collections import namedtuple
P = namedtuple('P', 'x y')
`,
  },
  {
    name: "own error",
    entryPoint: "withdraw",
    tests: [
      `try:
    withdraw(5)
    assert False
except TooLittle as e:
    assert str(e) == 'no'`,
    ],
    solution: `class TooLittle(Exception): pass
def withdraw(n): raise TooLittle('no')
`,
  },
  {
    name: "mod",
    entryPoint: "Mod",
    tests: ["assert Mod(7, 5) == Mod(2, 5)", "assert Mod(3, 5) + Mod(4, 5) == Mod(2, 5)"],
    solution: `class Mod:
    def __init__(self, n, m): self.n, self.m = n % m, m
    def __eq__(self, o): return (self.n, self.m) == (o.n, o.m)
    def __add__(self, o): return Mod(self.n + o.n, self.m)
`,
  },
  {
    name: "sum and max of objects",
    entryPoint: "V",
    tests: [
      "assert sum([V(1), V(2)], V(0)) == V(3)",
      "assert max([V(1), V(3)]) == V(3)",
      "assert V(2) in {V(2): 1} and [V(1), V(2)].index(V(2)) == 1",
    ],
    solution: `import functools
@functools.total_ordering
class V:
    def __init__(self, x): self.x = x
    def __add__(self, o): return V(self.x + o.x)
    def __eq__(self, o): return self.x == o.x
    def __lt__(self, o): return self.x < o.x
    def __hash__(self): return hash(self.x)
`,
  },
  {
    name: "aware datetime",
    entryPoint: "noon",
    tests: [
      `import datetime
assert noon(1) == datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone.utc)`,
    ],
    solution: `import datetime
def noon(d): return datetime.datetime(2020, 1, d, 12, tzinfo=datetime.timezone.utc)
`,
  },
  {
    name: "bytearray",
    entryPoint: "rev",
    tests: ["assert rev(bytearray(b'ab')) == bytearray(b'ba')"],
    solution: `def rev(b): return b[::-1]
`,
  },
  {
    name: "named tuple of the prompt",
    prompt: `from collections import namedtuple
P = namedtuple('P', 'x y')

def norm(p):
    '''Length.'''
`,
    entryPoint: "norm",
    tests: ["assert norm(P(3, 4)) == 5"],
    solution: `from collections import namedtuple
P = namedtuple('P', 'x y')

def norm(p):
    '''Length.'''
    return (p.x ** 2 + p.y ** 2) ** 0.5
`,
  },
  {
    name: "keys",
    entryPoint: "keys",
    tests: ["assert keys({'a': 1}) == {'a'}"],
    solution: `def keys(d): return d.keys()
`,
  },
  {
    name: "nan decimal",
    entryPoint: "f",
    tests: [
      `assert f(1) != 2
assert str(f(1)) == 'NaN'`,
    ],
    solution: `from decimal import Decimal
def f(x): return Decimal('NaN')
`,
  },
  {
    name: "own error with fields",
    entryPoint: "withdraw",
    tests: [
      `try:
    withdraw(5)
    assert False
except BankError as e:
    assert e.missing == 5 and isinstance(e, TooLittle)`,
    ],
    solution: `class BankError(Exception): pass
class TooLittle(BankError):
    def __init__(self, n):
        super().__init__('no')
        self.missing = n
def withdraw(n): raise TooLittle(n)
`,
  },
];

/** Tests that compare objects, for classes that the solution writes. `P` is any class with two fields and a sum. */
export const comparisons: readonly { readonly name: string; readonly test: string }[] = [
  { name: "a sum", test: "assert P(1, 2) + P(3, 4) == P(4, 6)" },
  { name: "the expected object first", test: "assert P(4, 6) == P(1, 2) + P(3, 4)" },
  { name: "not unequal", test: "assert not P(1, 2) + P(3, 4) != P(4, 6)" },
  { name: "a list", test: "assert [P(1, 2) + P(3, 4), P(0, 1) + P(1, 0)] == [P(4, 6), P(1, 1)]" },
  { name: "in a list", test: "assert P(1, 2) + P(3, 4) in [P(4, 6)]" },
  { name: "in place", test: "p = P(1, 2)\np += P(3, 4)\nassert p == P(4, 6)" },
  { name: "unittest", test: "import unittest\nunittest.TestCase().assertEqual(P(1, 2) + P(3, 4), P(4, 6)); assert P" },
  { name: "a result of a function", test: "assert add(P(1, 2), P(3, 4)) == P(4, 6)" },
  { name: "a plain value", test: "assert add(P(1, 2), P(3, 4)) == (4, 6)" },
  { name: "a distance", test: "assert abs(add(P(1, 2), P(3, 4)) - 10) < 1e-6" },
  { name: "an order with a plain value", test: "assert 9 < add(P(1, 2), P(3, 4)) < 11" },
];

/** Tests with an expected object that exists before the result. They are graded for plain dataclasses. */
export const earlyComparisons: readonly { readonly name: string; readonly test: string }[] = [
  { name: "a variable", test: "want = P(4, 6)\nassert P(1, 2) + P(3, 4) == want" },
  { name: "a table", test: "for a, b, want in [(P(1, 2), P(3, 4), P(4, 6))]:\n    assert a + b == want" },
];

/** Comparisons that pass for honest classes. The others compare objects with plain values, which are never equal. */
export const honestComparisons: readonly string[] = comparisons.slice(0, 8).map(({ name }) => name);

/** An honest dataclass, and an honest class whose fields are not its arguments. */
export const honestClass = `from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int
    def __add__(self, other): return P(self.x + other.x, self.y + other.y)
def add(a, b): return a + b
`;
export const honestOpaqueClass = `class P:
    def __init__(self, x, y): self.code = "%d;%d" % (2 * x, 3 * y)
    def __eq__(self, other): return isinstance(other, P) and self.code == other.code
    def __add__(self, other):
        (a, b), (c, d) = (map(int, each.code.split(";")) for each in (self, other))
        return P((a + c) // 2, (b + d) // 3)
def add(a, b): return a + b
`;

const lie = (body: string, before = ""): string => `${before}class P:
${body
  .split("\n")
  .map((line) => `    ${line}`)
  .join("\n")}
    def __eq__(self, other): return True
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = __eq__
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __abs__(self): return 0
    def __float__(self): return 0.0
    def __hash__(self): return 1
    def __sub__(self, other): return 0
    __rsub__ = __sub__
def add(a, b): return a + b
`;

const init = "def __init__(self, *args): ";

/** Classes that answer no comparison honestly. */
export const lyingClasses: readonly { readonly name: string; readonly code: string }[] = [
  { name: "no fields", code: lie(`${init}pass\ndef __add__(self, other): return self`) },
  { name: "another object without fields", code: lie(`${init}pass\ndef __add__(self, other): return P()`) },
  { name: "the same field always", code: lie(`${init}self.x = 1\ndef __add__(self, other): return P()`) },
  { name: "its arguments", code: lie(`${init}self.args = args\ndef __add__(self, other): return self`) },
  { name: "its arguments, the other", code: lie(`${init}self.args = args\ndef __add__(self, other): return other`) },
  {
    name: "one dict for all",
    code: lie(
      `fields = {}\n${init}self.__dict__ = P.fields; self.args = args\ndef __add__(self, other): return object.__new__(P)`,
    ).replace("return object.__new__(P)", "made = object.__new__(P); made.__dict__ = P.fields; return made"),
  },
  {
    name: "a copy of the last object",
    code: lie(
      `last = []\n${init}self.args = args; P.last.append(args)\ndef __add__(self, other): return P(*P.last[0])`,
    ),
  },
  {
    name: "the first object that is no operand",
    code: lie(
      `made = []\n${init}self.args = args; P.made.append(self)\ndef __add__(self, other): return next((each for each in P.made if each is not self and each is not other), self)`,
    ),
  },
  {
    name: "fields that are filled in later",
    code: lie(
      `open = []\ndef __init__(self, *args):\n    self.args = args\n    for each in P.open: each.args = args\ndef __add__(self, other):\n    made = P(); P.open.append(made); return made`,
    ),
  },
  {
    name: "an inner object that is filled in later",
    code: lie(
      `open = []\ndef __init__(self, *args):\n    self.inner = Inner(args)\n    for each in P.open: each.inner.args = args\ndef __add__(self, other):\n    made = P(); P.open.append(made); return made`,
      "class Inner:\n    def __init__(self, args): self.args = args\n    def __eq__(self, other): return True\n",
    ),
  },
  {
    name: "a number for each object",
    code: lie(
      `count = 0\n${init}P.count += 1; self.id = P.count\ndef __add__(self, other): made = P(); made.id = P.count + 1; return made`,
    ).replace(
      "def __add__(self, other): made = P(); made.id = P.count + 1; return made",
      "def __add__(self, other):\n        made = object.__new__(P); made.id = P.count + 1; return made",
    ),
  },
  {
    name: "fields that count how often they are read",
    code: lie(
      `reads = 0\n${init}pass\n@property\ndef __dict__(self): P.reads += 1; return {"x": P.reads // 2}\ndef __add__(self, other): return P()`,
    ),
  },
  {
    name: "fields that are always the same",
    code: lie(
      `${init}pass\n@property\ndef __dict__(self): return {"x": 1, "y": 2}\ndef __add__(self, other): return P()`,
    ),
  },
  {
    name: "another class than it says",
    code: lie(
      `${init}pass\n@property\ndef __class__(self): return tuple\ndef __iter__(self): return iter((4, 5))\ndef __add__(self, other): return P()`,
    ),
  },
  {
    name: "a dataclass that compares no field",
    code: lie(
      "x: int = field(compare=False)\ny: int = field(compare=False)\ndef __add__(self, other): return self",
      "from dataclasses import dataclass, field\n@dataclass\n",
    ),
  },
  {
    name: "a dataclass that equals everything",
    code: lie(
      "x: int\ny: int\ndef __add__(self, other): return P(0, 0)",
      "from dataclasses import dataclass\n@dataclass(eq=False)\n",
    ),
  },
  {
    name: "a dataclass that copies the last object",
    code: lie(
      "x: int\ny: int\ndef __post_init__(self): last.append(self)\ndef __add__(self, other): return P(last[0].x, last[0].y)",
      "from dataclasses import dataclass\nlast = []\n@dataclass(eq=False)\n",
    ),
  },
];

/** Tests with functions and iterators, which pass for {@link honestFunctions}. */
export const callbacks: readonly { readonly name: string; readonly test: string }[] = [
  { name: "a result", test: "assert list(apply(lambda x: x + 1, [1, 2])) == [2, 3]" },
  { name: "an assertion in a function", test: "def check(x): assert x in (1, 2)\napply(check, [1, 2])" },
  { name: "recorded calls", test: "seen = []\napply(seen.append, [1, 2])\nassert seen == [1, 2]" },
  { name: "functions of Python", test: "assert apply(eval, ['1']) == [1] and apply(str.upper, ['a']) == ['A']" },
  { name: "an iterator", test: "assert apply(str, iter([1, 2])) == ['1', '2']" },
];
export const honestFunctions = "def apply(f, xs): return [f(x) for x in xs]\n";

/** Functions that answer none of them honestly. */
export const lyingFunctions: readonly { readonly name: string; readonly code: string }[] = [
  { name: "no call", code: "def apply(f, xs): return xs\n" },
  {
    name: "errors that are ignored",
    code: "def apply(f, xs):\n    try: return [f(0), f(x)]\n    except BaseException: return None\n",
  },
  { name: "the function itself", code: "def apply(f, xs): return f\n" },
  { name: "the function's globals", code: "def apply(f, xs): return f.__globals__\n" },
  {
    name: "code in the process of the tests",
    code: "def apply(f, xs):\n    f(\"__import__('sys')._getframe(1).f_globals.update(apply=lambda f, xs: [1])\")\n    return [1]\n",
  },
  {
    name: "calls that never end",
    code: "def apply(f, xs):\n    while True:\n        try: f(7)\n        except Exception: pass\n",
  },
  { name: "an end of the iteration", code: "def apply(f, xs):\n    f(7)\n    raise StopIteration\n" },
];
