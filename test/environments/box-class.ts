/** A class of two methods to complete, as ClassEval has them. */
export const boxClass = {
  task_id: "Own_1",
  class_name: "Box",
  skeleton: `class Box:
    def __init__(self):
        self.items = []

    def put(self, item):
        """
        Puts an item in, and gives the count.
        """

    def total(self):
        """
        The sum of all items.
        """
`,
  solution_code: `class Box:
    def __init__(self):
        self.items = []

    def put(self, item):
        self.items.append(item)
        return len(self.items)

    def total(self):
        return sum(self.items)
`,
  import_statement: [],
  test: `import unittest

class TestPut(unittest.TestCase):
    def test_put_0(self):
        self.assertEqual(Box().put(3), 1)

    def test_put_1(self):
        box = Box(); box.put(1); self.assertEqual(box.put(8181), 2)

class TestTotal(unittest.TestCase):
    def test_total_0(self):
        self.assertEqual(Box().total(), 0)

    def test_total_1(self):
        box = Box(); box.items = [1, 9191]; self.assertEqual(box.total(), 9192)
`,
};
