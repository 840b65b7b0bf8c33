import { mkdir, writeFile } from "node:fs/promises";
import { referencePages } from "./reference-pages.ts";

// Writes the documents that are generated from the sources.
for (const [path, text] of Object.entries(await referencePages())) {
  const file = new URL(`../${path}`, import.meta.url);
  await mkdir(new URL(".", file), { recursive: true });
  await writeFile(file, text);
}
