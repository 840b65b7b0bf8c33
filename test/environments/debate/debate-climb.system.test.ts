import { expect, test } from "vitest";
import { debateEnvironment } from "../../../environments/debate/debate.ts";
import debateTopics from "../../../environments/debate/topics.json" with { type: "json" };
import { climb } from "../hill-climber.ts";

const common =
  `because since therefore thus as a result due to according to surveys data study reports for instance for example 2019
  half however but although yet the opponent says that of in and is are it they who with by on from this which will would
  people life world time place work family friend money idea question change future group story water light music hand
  voice morning letter garden river mountain winter number problem reason power system market member history result
  experience control effort .`.split(/\s+/);

// One round with simultaneous speakers. The best case for the climber, because none of its text is a copy.
const environment = debateEnvironment({ rounds: 1, order: "simultaneous" });

test("a climb without the words of the key points gets at most a fifth of the arguments' share", async () => {
  const task = await (await environment.tasks("test")).get(0);
  const { proposition, background } = task.task;
  const start = `${proposition} ${background}`;
  const { best } = await climb({ environment, task, words: [...start.split(" "), ...common], starts: [start] });
  expect(best).toBeLessThanOrEqual(0.6 * 0.2 + 1e-9);
});

test("a climb with the words of all key points of all topics stays under 0.5", async () => {
  const task = await (await environment.tasks("test")).get(0);
  const points = debateTopics.flatMap(({ pro, con }) => [...pro, ...con].join(" ").split(" "));
  const words = [...common, ...common, ...common, ...new Set(points)];
  const { best } = await climb({ environment, task, words, starts: [task.task.proposition] });
  expect(best).toBeLessThan(0.5);
});

test("a climb with the words of the topic's own key points stays under 0.75", async () => {
  const task = await (await environment.tasks("test")).get(0);
  const { pro, con, proposition } = task.task;
  const points = [...pro, ...con].join(" ").toLowerCase().replaceAll(/[.,]/g, "").split(" ");
  const words = [...points, ...points, ...common];
  const capitals = [...points, ...common].map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  const { best } = await climb({ environment, task, words: [...words, ...capitals, ".", "."], starts: [proposition] });
  expect(best).toBeLessThan(0.75);
});
