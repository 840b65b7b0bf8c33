import type { AnswerStructure } from "./answer-structure.ts";
import { isLess } from "./equal-expressions.ts";
import { isName, type Relation, relationInterval } from "./equal-relations.ts";

/** The word between the parts of an answer. */
export type Joint = "and" | "or" | "comma";

/** Returns the word that joins the parts of a written answer. `comma` if there is none. */
export function jointOf(text: string): Joint {
  if (/\band\b|\\(?:land|wedge)\b|∧/i.test(text)) return "and";
  return /\bor\b|\\(?:lor|vee)\b|∨/i.test(text) ? "or" : "comma";
}

/**
 * Returns the set of several inequalities in one variable, in LaTeX: a union for `x < 1 or x > 2`, an interval for `x >
 * 1 and x < 2`. Undefined if they contradict each other or are of another kind.
 */
export function inequalitySet(items: readonly AnswerStructure[], joint: Joint): string | undefined {
  const relations = items.filter((item): item is Relation => item.kind === "relation");
  const variables = new Set(relations.map(({ parts }) => parts.find(isName)));
  if (relations.length < items.length || relations.length === 0 || variables.size !== 1) return undefined;
  if (relations.length === 1) return excluded(relations[0]!) ?? relationInterval(relations[0]!);
  const sets = relations.flatMap((relation) => point(relation) ?? relationInterval(relation) ?? []);
  if (sets.length < relations.length) return undefined;
  const overlap = sets.length === 2 ? overlapOfRays(sets) : undefined;
  if (joint === "and") return overlap;
  if (overlap === undefined) return sets.join("\\cup ");
  return joint === "or" ? undefined : overlap;
}

/** Returns `x = 2` as a set of one value. */
function point({ operators, parts }: Relation): string | undefined {
  return operators.join() === "=" && isName(parts[0]!) ? `\\{${parts[1]}\\}` : undefined;
}

/** Returns `x \ne 2` as the real line without that value. */
function excluded({ operators, parts }: Relation): string | undefined {
  if (operators.join() !== "!=" || !isName(parts[0]!)) return undefined;
  return `(-\\infty,${parts[1]})\\cup(${parts[1]},\\infty)`;
}

/** Returns the interval that two overlapping rays in opposite directions have in common. */
function overlapOfRays(sets: readonly string[]): string | undefined {
  const up = sets.map((set) => /^([([])(.*),\\infty\)$/s.exec(set)).find((match) => match !== null);
  const down = sets.map((set) => /^\(-\\infty,(.*)([)\]])$/s.exec(set)).find((match) => match !== null);
  if (!up || !down || !isLess(up[2]!, down[1]!)) return undefined;
  return `${up[1]}${up[2]},${down[1]}${down[2]}`;
}
