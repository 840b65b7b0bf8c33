import { writeFile } from "node:fs/promises";
import { referencePages } from "./reference-pages.ts";

// Writes the documents that are generated from the sources.
for (const [path, text] of Object.entries(await referencePages())) {
  await writeFile(new URL(`../${path}`, import.meta.url), text);
}
