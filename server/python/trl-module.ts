import type { ToolSpec } from "../../src/contract/message.ts";
import { identifiers } from "./python-names.ts";
import { pythonModule } from "./python-template.ts";
import { docText, wrapped } from "./python-text.ts";
import { toolMethod } from "./tool-method.ts";

/** The names that a tool's method must not have: other methods, and types in hints of the class. */
const reserved = [
  "reset",
  "get_reward",
  "answer", // TRL takes a method called get_reward as a second reward.
  "str",
  "int",
  "float",
  "bool",
  "list",
  "dict",
  "Any",
  "Literal",
  "self",
];

/** The method that takes a turn without a tool of the environment. With a single turn, the model's message is the answer. */
const answerMethod = `
    def answer(self, text: str) -> str:
        """Takes a turn by a text, and returns what follows. A message without a call ends the episode.

        Args:
            text: The complete text of the turn.
        """
        return self._step({"text": text})
`;

/** Returns the module with the class for TRL's `environment_factory` and its reward function. */
export function trlModule(options: {
  readonly prefix: string;
  readonly description: string;
  readonly tools: readonly ToolSpec[];
  readonly maxTurns: number;
}): string {
  const { prefix, description, tools, maxTurns } = options;
  const names = identifiers(
    tools.map(({ name }) => name),
    reserved,
  );
  const methods = tools.map((tool, place) => `\n${toolMethod(tool, names[place]!)}`).join("");
  return pythonModule("trl_environment", {
    Template: prefix,
    "An environment on a Lyceum server.": wrapped(docText(description) || "An environment on a Lyceum server.", {
      indent: "    ",
    }),
    "\n    # The methods of tools.\n": (maxTurns > 1 ? answerMethod : "") + methods,
  });
}
