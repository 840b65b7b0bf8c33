import { stripVTControlCharacters } from "node:util";
import { expect, test, vi } from "vitest";
import { progressLine, showCollecting } from "../../cli/collect-view.ts";

const counts = { episodes: 300, written: 0, below: 0, unscored: 0, failed: 2, scored: 200, rewards: 50 };

test("the remaining time comes from the episodes of this run, the mean reward from all episodes", () => {
  const line = progressLine({ total: 1_200, before: 200, counts, elapsedMs: 10_000 });
  expect(line).toBe("300 of 1,200 episodes, 25%, mean reward 0.25, 2 failed, eta 1m 30s");
});

test("unknown values are not shown", () => {
  const none = { ...counts, episodes: 0, failed: 0, scored: 0, rewards: 0 };
  expect(progressLine({ total: 8, before: 0, counts: none, elapsedMs: 5 })).toBe("0 of 8 episodes, 0%");
});

test.each([true, false])("shows the line on a terminal (%s), and removes it", (isTTY) => {
  vi.useFakeTimers();
  try {
    const written: string[] = [];
    const stream = { isTTY, columns: 80, rows: 24, write: (text: string) => written.push(text) > 0 };
    const running = { ...counts };
    {
      using _view = showCollecting({ stream, total: 1_200, counts: running });
      running.episodes = 600;
      vi.advanceTimersByTime(isTTY ? 200 : 10_000);
    }
    const after = written.length;
    vi.advanceTimersByTime(60_000);
    expect(written).toHaveLength(after);
    const shown = written.join("");
    expect(shown).toContain("600 of 1,200 episodes, 50%");
    if (isTTY) expect(written.at(-1)).toBe("\r\u001B[1A\u001B[J");
    else expect(shown).toBe(`${stripVTControlCharacters(shown).trim()}\n`);
  } finally {
    vi.useRealTimers();
  }
});
