import { z } from "zod";
import type { Json } from "../../contract/json.ts";

/**
 * A policy in a config: a name for `--model`, the path of a policy file, or the keys of such a file. The
 * command line opens it. Other readers of a config get the opened policy.
 */
export type PolicySpecification = string | Readonly<Record<string, Json>>;

/** The schema of a {@link PolicySpecification}. The keys of a mapping are checked when it is opened. */
export const policySpecificationSchema: z.ZodType<PolicySpecification, PolicySpecification> = z.union([
  z.string().min(1),
  z.record(z.string(), z.json()),
]);
