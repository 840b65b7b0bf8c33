import { expect, test } from "vitest";
import { ungradableTest } from "../../sandbox/grading/python/ungradable-tests.ts";

const item = "class Item:\n    def __init__(self, n): self.n = n\n";

test.each([
  ["in an argument", "assert f(Item(1)) == 1"],
  ["in a list", "assert f([Item(1), Item(2)]) == 3"],
  ["by name", "assert f(key=Item(1)) == 1"],
  ["in a variable", "item = Item(1)\nassert f(item) == 1"],
  ["in a list of variables", "a = Item(1)\nb = [a]\nassert f(b) == 1"],
  ["that was appended", "items = []\nitems.append(Item(1))\nassert f(items) == 1"],
  ["of a loop", "for item in [Item(1)]:\n    assert f(item) == 1"],
  ["of a method", "s = Stack()\ns.push(Item(1))\nassert s.size() == 1"],
  ["as a class", "assert f(Item) == 'Item'"],
  ["in a call of a call", "assert g(f(Item(1))) == 1"],
])("an object %s cannot be graded", (_, code) => {
  const found = ungradableTest([item + code]);
  expect(found?.reason).toContain("Item");
  expect(code.split("\n").map((line) => line.trim())).toContain(found?.line);
});

test.each([
  ["class of a function", "def check(f):\n    class Item: pass\n    assert f(Item()) == 1"],
  ["class of a branch", "if True:\n    class Item: pass\nassert f(Item()) == 1"],
  ["named tuple", "Item = namedtuple('Item', 'n')\nassert f(Item(1)) == 1"],
  ["enum", "class Item(IntEnum):\n    A = 1\nassert f(Item.A) == 1"],
  ["enum that a call makes", "Item = Enum('Item', 'A')\nitems = [Item.A]\nassert f(items) == 1"],
  ["enum in a variable", "class Item(Flag):\n    A = 1\nx = Item.A\nassert f(x) == 1"],
  ["enum by its key", "class Item(Enum):\n    A = 1\nassert f(Item['A']) == 1"],
  ["exception", "class Item(Exception): pass\nassert f(Item()) == 1"],
])("an object of a %s cannot be graded", (_, code) => {
  expect(ungradableTest([code])?.reason).toContain("Item");
});

test.each([
  ["has no class", "assert f(1) == 1"],
  ["compares a result with an object", `${item}assert f(1) == Item(1)`],
  ["asks for the type of a result", `${item}assert isinstance(f(1), Item)`],
  ["passes a value of a class", `${item}assert f(Item.n) == 1`],
  ["passes the value of an enum", "class Item(Enum):\n    A = 1\nassert f(Item.A.value) == 1"],
  ["passes the name of an enum", "Item = IntEnum('Item', 'A B')\nassert f(Item.A.name) == 'A'"],
  ["compares a result with a member of an enum", "class Item(Enum):\n    A = 1\nassert f(1) == Item.A"],
  ["passes the length of a list of objects", `${item}assert f(len([Item(1)])) == 1`],
  ["has the name in a text", `${item}assert f('Item(1)') == 1`],
  ["has the name in a comment", `${item}assert f(1) == 1  # f(Item(1))`],
  ["derives a class", `${item}class Other(Item): pass\nassert f(1) == 1`],
  ["deletes the class", `${item}del Item\nassert f(1) == 1`],
  ["annotates a variable", `${item}x: Item = None\nassert f(1) == 1`],
  [
    "raises an exception",
    "class Bad(UserWarning): pass\ntry:\n    raise Bad(f(1))\nexcept Bad as e: assert e.args == (1,)",
  ],
  ["opens a context", "class Timer:\n    pass\nwith Timer():\n    assert f(1) == 1"],
  [
    "is a test class",
    "class TestF(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 1)\nTestF().test_a()",
  ],
  ["asserts by a method", `${item}self.assertEqual(f(1), Item(1))`],
  ["passes objects to a function of its own", `${item}def value(item): return item.n\nassert f(1) == value(Item(1))`],
  ["is not Python", "class Item(:\nassert f(Item("],
])("a test that %s is graded", (_, code) => {
  expect(ungradableTest([code])).toBeUndefined();
});
