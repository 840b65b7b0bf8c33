import { z } from "zod";

/** A proposition to debate. The key points are known to the rule-based judge, never to the debaters. */
export interface DebateTopic {
  readonly proposition: string;
  /** What every debater is told of the matter; may be empty. */
  readonly background: string;
  /** What a good case for the proposition would say, one sentence a point. */
  readonly pro: readonly string[];
  /** What a good case against it would say. */
  readonly con: readonly string[];
}

/** For or against the proposition. */
export type Side = "PRO" | "CON";

/** One thing that a debater said. */
export interface Argument {
  readonly agent: string;
  readonly side: Side;
  /** From 0. */
  readonly round: number;
  readonly text: string;
}

const points = z.array(z.string().min(1)).min(1);

/** A row of own topics: key points may be as many as wanted, at least one a side. */
export const topicRowSchema: z.ZodType<DebateTopic> = z.object({
  proposition: z.string().min(1),
  background: z.string().default(""),
  pro: points,
  con: points,
});
