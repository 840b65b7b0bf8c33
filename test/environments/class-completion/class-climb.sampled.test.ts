import { expect, test } from "vitest";
import { classCompletionEnvironment } from "../../../environments/class-completion/class-completion.ts";
import { benchmarkFile, noBenchmarkData } from "../../sandbox/benchmark-data.ts";
import { isSlowTier } from "../../tier.ts";
import { climb } from "../hill-climber.ts";
import { pythonSandbox } from "../python-sandbox.ts";

/** Method bodies that use only the names and parameters of the class. */
const bodies = [
  ..."None True False 0 1 -1 '' [] {} self args[0] args[-1] args[0][::-1] len(args[0]) sum(args) sorted(args[0]) str(args[0])"
    .split(" ")
    .map((value) => `return\t${value}`),
  "self.__dict__.update(enumerate(args))",
  "self.__dict__.setdefault('items',[]).append(args[0])",
  "return\tself.__dict__.get('items',[])",
  "raise\tValueError",
];
const episodes = Number(process.env.LYCEUM_CLIMB_EPISODES ?? (isSlowTier ? 100 : 60));

test.skipIf(noBenchmarkData !== undefined)(
  `a blind climb over classes completes none, and passes few tests ${noBenchmarkData ?? ""}`,
  async () => {
    const path = benchmarkFile("ClassEval_data.json");
    const environment = classCompletionEnvironment({ path, sandbox: pythonSandbox });
    const tasks = await environment.tasks("test");
    const reached: number[] = [];
    for (let index = 0; index < 100; index += isSlowTier ? 12 : 24) {
      const task = await tasks.get(index);
      // Tabs and leading line breaks, because the climber splits texts at spaces.
      const written = task.task.methods.map(({ name }) => {
        const head = task.task.skeleton.match(new RegExp(`def ${name}\\(([^)]*)\\)`))![1]!;
        const parameters = head
          .split(",")
          .map((parameter) => parameter.trim().match(/^\w*/)![0])
          .slice(1);
        const stored = parameters.map((parameter) => `;self.${parameter}=${parameter}`).join("");
        return [
          ...bodies.map((body) => `\ndef\t${name}(self,*args,**named):\t${body}`),
          `\ndef\t${name}(self,${parameters.join(",")}):\tpass${stored}`,
        ];
      });
      const starts = bodies.map((_, body) => `\`\`\`python${written.map((method) => method[body]).join(" ")}\n\`\`\``);
      const { best } = await climb({ environment, task, words: written.flat(), starts, episodes });
      reached.push(best);
    }
    // If every method answers yes or no, constants pass most tests of each.
    expect(Math.max(...reached)).toBeLessThan(0.9);
    expect(reached.reduce((sum, value) => sum + value, 0) / reached.length).toBeLessThan(0.45);
  },
);
