import { z } from "zod";
import { defineTool, type ToolContext, type ToolRecord } from "../../src/core/tools/tool.ts";
import type { ToolsState } from "./tools-state.ts";

const path = z.string().min(1).max(300).describe("A relative path, such as data.csv.");

/** The tools that write, read and list files in the episode's folder. They cannot access files outside of it. */
export const fileTools: ToolRecord = {
  write_file: defineTool({
    description: "Writes a text file. Replaces the file if it exists.",
    inputSchema: z.strictObject({ path, content: z.string() }),
    execute: async (input, { state }: ToolContext<ToolsState>) => {
      await state.folder.write(input.path, input.content);
      return `${input.path} is written.`;
    },
  }),
  read_file: defineTool({
    description: "Returns the text of a file, starting at a character.",
    inputSchema: z.strictObject({ path, offset: z.int().min(0).default(0).describe("The first character, from 0.") }),
    execute: async (input, { state }: ToolContext<ToolsState>) =>
      (await state.folder.read(input.path)).slice(input.offset),
  }),
  list_files: defineTool({
    description: "Lists all files with their sizes.",
    inputSchema: z.strictObject({}),
    execute: async (_, { state }: ToolContext<ToolsState>) => {
      const files = await state.folder.list();
      return files.length === 0 ? "There are no files." : files.map((f) => `${f.path} (${f.bytes} bytes)`).join("\n");
    },
  }),
};
