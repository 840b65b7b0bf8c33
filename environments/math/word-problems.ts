import type { Random } from "../../src/core/random/random.ts";
import type { ProblemGenerator } from "./math-problem.ts";
import { names, shops, things, vehicles } from "./word-lists.ts";

/** A story under construction: its sentences, its calculations and its current number. */
interface Story {
  readonly sentences: readonly string[];
  readonly steps: readonly string[];
  readonly answer: number;
}

type StoryTemplate = (random: Random, difficulty: number) => Story;

/**
 * Generates short stories about belongings, shopping, sharing, travel and savings, with random names, things and
 * numbers. A story has `difficulty` calculations, or at least two for sharing and shopping. Numbers grow with the
 * difficulty.
 */
export const wordProblemGenerator: ProblemGenerator = (random, difficulty) => {
  const template = random.pick(difficulty === 1 ? [belongings, travel, savings] : templates);
  const { sentences, steps, answer } = template(random, difficulty);
  const question = sentences.join(" ");
  return { kind: "word-problem", difficulty, question, terse: `${question} `, steps, answer: String(answer) };
};

/** Someone has things, and gains or loses some in each sentence. */
const belongings: StoryTemplate = (random, difficulty) => {
  const [name, friend] = random.shuffle(names);
  const thing = random.pick(things);
  let count = random.integer(5, 15 + 15 * difficulty);
  const sentences = [`${name} has ${count} ${thing}.`];
  const steps: string[] = [];
  for (let i = 0; i < difficulty; i++) {
    const before = count;
    const change = random.integer(2, 10 + 10 * difficulty);
    const event = random.pick(count > 3 ? (["gain", "loss", "multiple"] as const) : (["gain"] as const));
    if (event === "gain") {
      count += change;
      sentences.push(
        random.pick([
          `${name} finds ${change} more.`,
          `${friend} gives ${name} ${change} more.`,
          `Then ${name} buys another ${change}.`,
        ]),
      );
      steps.push(`${before} + ${change} = ${count}`);
    } else if (event === "loss") {
      const lost = random.integer(2, before - 1);
      count -= lost;
      sentences.push(
        random.pick([
          `${name} gives ${lost} of them to ${friend}.`,
          `${name} loses ${lost} of them.`,
          `${lost} of them break.`,
        ]),
      );
      steps.push(`${before} - ${lost} = ${count}`);
    } else {
      const factor = random.integer(2, 3);
      count *= factor;
      sentences.push(`A week later ${name} has ${factor} times as many.`);
      steps.push(`${before} * ${factor} = ${count}`);
    }
  }
  return {
    sentences: [...sentences, `How many ${thing} does ${name} have now?`],
    steps,
    answer: count,
  };
};

/** Someone buys several things at different prices. From difficulty 3 on, the payment is a banknote. */
const shopping: StoryTemplate = (random, difficulty) => {
  const [name] = random.shuffle(names);
  const bought = random.shuffle(things).slice(0, Math.max(1, Math.min(4, difficulty - 1)));
  const sentences = [`${name} goes to ${random.pick(shops)}.`];
  const steps: string[] = [];
  let total = 0;
  for (const thing of bought) {
    const count = random.integer(2, 4 + 2 * difficulty);
    const price = random.integer(2, 5 + 3 * difficulty);
    sentences.push(`${name} buys ${count} ${thing} for $${price} each.`);
    steps.push(`${count} * ${price} = ${count * price}`);
    if (total > 0) steps.push(`${total} + ${count * price} = ${total + count * price}`);
    total += count * price;
  }
  if (difficulty < 3) {
    const delivery = random.integer(2, 9);
    steps.push(`${total} + ${delivery} = ${total + delivery}`);
    sentences.push(`Delivery costs $${delivery}.`, `How many dollars does ${name} pay in total?`);
    return { sentences, steps, answer: total + delivery };
  }
  const note = Math.ceil((total + 1) / 50) * 50;
  steps.push(`${note} - ${total} = ${note - total}`);
  sentences.push(`${name} pays with $${note}.`, `How many dollars does ${name} get back?`);
  return { sentences, steps, answer: note - total };
};

/**
 * Several people put their things into equal boxes. The question is how many things are in each box, or how many boxes
 * there are.
 */
const sharing: StoryTemplate = (random, difficulty) => {
  const people = random.shuffle(names).slice(0, Math.max(2, difficulty));
  const thing = random.pick(things);
  const boxes = random.integer(2, 3 + 2 * difficulty);
  const perBox = random.integer(2 * people.length, 10 + 5 * difficulty);
  const total = boxes * perBox;
  const parts = randomParts(random, total, people.length);
  const sentences = people.map((person, i) => `${person} brings ${parts[i]} ${thing}.`);
  const steps = parts.slice(1).map((part, i) => {
    const before = parts.slice(0, i + 1).reduce((sum, value) => sum + value, 0);
    return `${before} + ${part} = ${before + part}`;
  });
  if (random.next() < 0.5) {
    sentences.push(
      `They put all of them into ${boxes} boxes, the same number in each.`,
      `How many ${thing} are in each box?`,
    );
    return { sentences, steps: [...steps, `${total} / ${boxes} = ${perBox}`], answer: perBox };
  }
  sentences.push(`They put all of them into boxes of ${perBox}.`, "How many boxes do they fill?");
  return { sentences, steps: [...steps, `${total} / ${perBox} = ${boxes}`], answer: boxes };
};

/** Someone travels several legs, each with its speed and hours. */
const travel: StoryTemplate = (random, difficulty) => {
  const [name] = random.shuffle(names);
  const vehicle = random.pick(vehicles);
  const legs = Math.ceil((difficulty + 1) / 2);
  const sentences: string[] = [];
  const steps: string[] = [];
  let total = 0;
  for (let i = 0; i < legs; i++) {
    const hours = random.integer(2, 3 + difficulty);
    const speed = random.integer(1, 4 + 2 * difficulty) * 5;
    const distance = hours * speed;
    sentences.push(
      `${i === 0 ? name : `Then ${name}`} travels ${hours} hours by ${vehicle} at ${speed} kilometres per hour.`,
    );
    steps.push(`${hours} * ${speed} = ${distance}`);
    if (i > 0) steps.push(`${total} + ${distance} = ${total + distance}`);
    total += distance;
  }
  const planned = total + random.integer(5, 20 * difficulty);
  if (difficulty % 2 === 1) {
    return {
      sentences: [...sentences, `How many kilometres does ${name} travel in all?`],
      steps,
      answer: total,
    };
  }
  steps.push(`${planned} - ${total} = ${planned - total}`);
  sentences.push(`The whole way is ${planned} kilometres long.`, "How many kilometres are left?");
  return { sentences, steps, answer: planned - total };
};

/** Someone saves money every week, and spends or receives some. */
const savings: StoryTemplate = (random, difficulty) => {
  const [name] = random.shuffle(names);
  const weekly = random.integer(2, 5 + 5 * difficulty);
  const weeks = random.integer(2, 4 + 3 * difficulty);
  let total = weekly * weeks;
  const sentences = [`${name} saves $${weekly} every week for ${weeks} weeks.`];
  const steps = [`${weekly} * ${weeks} = ${total}`];
  for (let i = 1; i < difficulty; i++) {
    const before = total;
    if (random.next() < 0.5 && total > 2) {
      const spent = random.integer(2, total - 1);
      total -= spent;
      sentences.push(`${name} then spends $${spent} on ${random.pick(things)}.`);
      steps.push(`${before} - ${spent} = ${total}`);
    } else {
      const gift = random.integer(5, 20 * difficulty);
      total += gift;
      sentences.push(`${random.pick(["An aunt", "An uncle", "A neighbour"])} gives ${name} $${gift}.`);
      steps.push(`${before} + ${gift} = ${total}`);
    }
  }
  return {
    sentences: [...sentences, `How many dollars does ${name} have then?`],
    steps,
    answer: total,
  };
};

const templates: readonly StoryTemplate[] = [belongings, shopping, sharing, travel, savings];

/** Returns whole numbers of at least 2 that add up to `total`. */
function randomParts(random: Random, total: number, count: number): number[] {
  const parts: number[] = [];
  let rest = total;
  for (let left = count - 1; left > 0; left--) {
    const part = random.integer(2, Math.max(2, Math.min(rest - 2 * left, Math.floor((2 * rest) / (left + 1)))));
    parts.push(part);
    rest -= part;
  }
  return [...parts, rest];
}
