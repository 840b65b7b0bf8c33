import { z } from "zod";
import { definePolicy } from "../../src/core/policy/define-policy.ts";
import { scriptedPolicy } from "../../src/index.ts";

/** A policy that always gives the same answer. */
export const policy = definePolicy({
  id: "fixed",
  description: "Says hello.",
  options: z.strictObject({}),
  open: () => scriptedPolicy(() => "Hello."),
});
