/*
 * A custom environment: spell a word backwards. A script and the environment's own expert play it. Then
 * `checkEnvironment` checks it against the rules of environments.
 *
 *   npm run example examples/environments/custom-environment.ts
 */
import { collectGroups, defineEnvironment, demonstrationPolicy, type Policy, rollout, scriptedPolicy } from "lyceum";
import { checkEnvironment } from "lyceum/testing";

const words = ["apple", "river", "stone", "cloud", "tiger", "piano", "lemon", "grass"];
const backwards = (word: string): string => [...word].reverse().join("");

const environment = defineEnvironment({
  id: "backwards",
  tasks: words,
  reset: ({ task }) => `Spell "${task}" backwards.`,
  step: ({ task, text }) => {
    const answer = text.trim().toLowerCase();
    const right = [...backwards(task)].filter((letter, i) => answer[i] === letter).length;
    return { components: { exact: answer === backwards(task) ? 0.5 : 0, letters: (0.5 * right) / task.length } };
  },
  demonstrate: backwards,
});

const { problems } = await checkEnvironment(environment);
for (const { rule, message, hint } of problems) console.log(`${rule}: ${message} ${hint}`);

const policies: Policy[] = [
  scriptedPolicy(["level"], { name: "always says level" }),
  demonstrationPolicy({ environment }),
];
for (const policy of policies) {
  const tasks = await environment.tasks("train");
  const groups = await collectGroups(rollout({ environment, tasks, policies: policy, seed: 1 }));
  console.log(`\n${policy.name}`);
  for (const { task, episodes } of groups) {
    const { reward } = episodes[0]!.agents.agent!;
    console.log(`  ${words[task.index]}`, reward.status === "scored" ? reward.value.toFixed(2) : reward.reason);
  }
}
