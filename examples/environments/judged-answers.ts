// Questions of a JSONL file, whose answers a model judges. Run it without a key:
//   npx lyceum eval --env ./judged-answers.ts --model demonstration --judge ./strict-judge.ts
// and with a real judge:
//   npx lyceum eval --env ./judged-answers.ts --model openai:gpt-5-mini --judge openai:gpt-5 --judge-requests 100
import { environmentFromReward, loadTaskset } from "lyceum";
import { judge } from "lyceum/contract";
import { z } from "zod";

const source = new URL("judged-answers.jsonl", import.meta.url).pathname;
const row = z.object({ question: z.string(), reference: z.string() });

export const environment = environmentFromReward({
  id: "judged-answers",
  splits: ["train"],
  tasks: (split, { signal }) => loadTaskset({ source, split, schema: row }, { signal }),
  prompt: ({ question }) => `${question} Answer in one sentence.`,
  reward: [
    judge({
      name: "correct",
      prompt:
        "Question:\n{task.question}\nReference:\n{task.reference}\nAnswer:\n{text}\nDoes the answer say the same as the reference?",
    }),
    { name: "brief", weight: 0.1, score: ({ text }) => (text.length < 200 ? 1 : 0) },
  ],
  demonstrate: ({ reference }) => reference,
});
