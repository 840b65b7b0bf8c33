import { type Argument, type Command, Help, type HelpConfiguration, type Option } from "commander";
import { wrapText } from "../reports/training/terminal-text.ts";

const indent = 2;
const gap = 2;
/** The maximum width of the column of terms. The description of a longer term starts on the next line. */
const widestTerm = 28;

/** The layout of help texts: wraps descriptions at the terminal's width and shows only meaningful defaults. */
export const helpLayout: HelpConfiguration = {
  padWidth(this: Help, command: Command, helper: Help): number {
    return Math.min(widestTerm, Help.prototype.padWidth.call(this, command, helper));
  },
  formatItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
    const left = indent + termWidth + gap;
    const lines = wrapText(description, Math.max(20, (helper.helpWidth ?? 80) - left));
    const fits = term.length <= termWidth;
    const first = `${" ".repeat(indent)}${fits ? term.padEnd(termWidth + gap) + (lines.shift() ?? "") : term}`;
    return [first, ...lines.map((line) => " ".repeat(left) + line)].map((line) => line.trimEnd()).join("\n");
  },
  optionDescription: described,
  argumentDescription: described,
  subcommandTerm: (command: Command): string => command.name(),
};

function described({ description, argChoices, defaultValue }: Option | Argument): string {
  const choices = argChoices === undefined ? "" : ` (${argChoices.join(", ")})`;
  const silent = defaultValue === undefined || typeof defaultValue === "boolean" || Array.isArray(defaultValue);
  return `${description}${choices}${silent ? "" : ` (default: ${String(defaultValue)})`}`;
}
