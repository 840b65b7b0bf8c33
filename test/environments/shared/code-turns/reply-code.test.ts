import { expect, it } from "vitest";
import { replyCode } from "../../../../environments/shared/code-turns/reply-code.ts";

it.each([
  ["a reply without a block is code", "def f(): pass", "def f(): pass"],
  ["a marked block", "Here:\n```python\nx = 1\n```\nDone.", "x = 1"],
  ["an unmarked block", "```\nx = 1\n```", "x = 1"],
  ["the last of several", "```python\nx = 1\n```\nBetter:\n```python\nx = 2\n```", "x = 2"],
  ["not one of another language", "```python\nx = 1\n```\nRun:\n```bash\npython x.py\n```", "x = 1"],
  ["one of another language if there is no other", "```text\nx = 1\n```", "x = 1"],
  ["one that is cut off", "```python\nx = 1\ny =", "x = 1\ny ="],
  ["a longer fence around a shorter one", '````python\ns = """\n```\n"""\n````', 's = """\n```\n"""'],
  ["tildes", "~~~py\nx = 1\n~~~", "x = 1"],
  ["carriage returns", "```python\r\nx = 1\r\n```\r\n", "x = 1"],
  ["backticks within a line open nothing", "Use ```x``` here", "Use ```x``` here"],
  ["an empty block", "```python\n```", ""],
])("%s", (_, text, code) => {
  expect(replyCode(text, "python")).toBe(code);
});
