import { z } from "zod";

/** An agent program in a config. The command line opens it. Other readers of a config get the program. */
export type ProgramSpecification = Readonly<z.output<typeof programSpecificationSchema>>;

/** The schema of a {@link ProgramSpecification}. */
export const programSpecificationSchema = z
  .strictObject({
    command: z
      .array(z.string())
      .min(1)
      .readonly()
      .optional()
      .describe("A program and its arguments, such as [python, agent.py]. It starts in the current folder."),
    module: z
      .string()
      .min(1)
      .optional()
      .describe("Instead of a command: a file that exports the agent as the function `agent`; see agents.md."),
    timeoutSeconds: z.number().positive().optional().describe("The longest time of one action. 300 if absent."),
    maxModelCalls: z
      .int()
      .positive()
      .optional()
      .describe("The maximum number of model calls of one action. 100 if absent."),
  })
  .check((context) => {
    const { command, module } = context.value;
    if ((command === undefined) !== (module === undefined)) return;
    const message = "give either a command or a module";
    context.issues.push({ code: "custom", message, input: context.value, path: [] });
  });
