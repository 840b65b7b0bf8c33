import { z } from "zod";
import { defineTool, type Tool } from "./tool.ts";

const path = z.string().min(1).max(300).describe("A relative path, such as data.csv.");

/** Writing, reading and listing files of the episode's own folder, which nothing leads out of. */
export const fileTools: readonly Tool[] = [
  defineTool({
    name: "write_file",
    description: "Writes a text file, in place of what it held.",
    parameters: z.strictObject({ path, content: z.string() }),
    call: async (input, { episode }) => {
      await episode.folder.write(input.path, input.content);
      return `${input.path} is written.`;
    },
  }),
  defineTool({
    name: "read_file",
    description: "Gives the text of a file, from a character on.",
    parameters: z.strictObject({ path, offset: z.int().min(0).default(0).describe("The first character, from 0.") }),
    call: async (input, { episode }) => (await episode.folder.read(input.path)).slice(input.offset),
  }),
  defineTool({
    name: "list_files",
    description: "Lists the files there are, with their sizes.",
    parameters: z.strictObject({}),
    call: async (_, { episode }) => {
      const files = await episode.folder.list();
      return files.length === 0 ? "There are no files." : files.map((f) => `${f.path} (${f.bytes} bytes)`).join("\n");
    },
  }),
];
