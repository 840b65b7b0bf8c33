import { z } from "zod";

/** A proposition to debate. Only the rule-based judge knows the key points. The debaters do not. */
export interface DebateTopic {
  readonly proposition: string;
  /** Background for all debaters. May be empty. */
  readonly background: string;
  /** The key points for the proposition, one sentence each. */
  readonly pro: readonly string[];
  /** The key points against the proposition. */
  readonly con: readonly string[];
}

/** For or against the proposition. */
export type Side = "PRO" | "CON";

/** One argument of a debater. */
export interface Argument {
  readonly agent: string;
  readonly side: Side;
  /** From 0. */
  readonly round: number;
  readonly text: string;
}

const points = z.array(z.string().min(1)).min(1);

/** The schema of a row with a custom topic. Each side needs at least one key point. */
export const topicRowSchema: z.ZodType<DebateTopic> = z.object({
  proposition: z.string().min(1),
  background: z.string().default(""),
  pro: points,
  con: points,
});
