import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { repository } from "../examples/run-program.ts";

/** An export of an entry point, with the example of its doc comment. */
export interface ExportExample {
  readonly name: string;
  /** The file that declares it. */
  readonly file: string;
  /** The code after `@example`; undefined if there is none. */
  readonly code: string | undefined;
}

/** The examples that the tests compile and run. */
export interface DocumentedExamples {
  readonly ofRoot: readonly ExportExample[];
  readonly ofSuites: readonly ExportExample[];
  readonly ofServer: readonly ExportExample[];
}

/** Returns the examples of the root's exports, of the conformance suites and of the server. */
export async function documentedExamples(): Promise<DocumentedExamples> {
  const [ofRoot, ofServer, ...suites] = await Promise.all(
    [
      "src/index.ts",
      "server/index.ts",
      "src/entry-points/testing.ts",
      "sandbox/testing/index.ts",
      "trainers/testing/index.ts",
    ].map((path) => exportExamples(join(repository, path))),
  );
  return {
    ofRoot: ofRoot!,
    ofSuites: suites.flat().filter(({ name }) => name.endsWith("Conformance")),
    ofServer: ofServer!.filter(({ code }) => code !== undefined),
  };
}

/**
 * Writes `example-0.ts`, `example-1.ts` and so on, with an assertion for each line `EXPRESSION; // => VALUE`. They have
 * numbers, because some file systems ignore case.
 */
export async function writeExamples(folder: string, examples: readonly ExportExample[]): Promise<void> {
  for (const [index, { code = "" }] of examples.entries()) {
    const lines = code.replaceAll(/^(\S.*); \/\/ => (.+)$/gm, "assert.deepStrictEqual($1, $2);");
    await writeFile(join(folder, `example-${index}.ts`), `import assert from "node:assert/strict";\n${lines}`);
  }
}

/** The exports of a file that only exports names of other files, in order. */
export async function exportExamples(index: string): Promise<readonly ExportExample[]> {
  return Promise.all(
    (await reExports(index)).map(async ({ name, from }) => {
      const { file, comment } = await declarationOf(name, from);
      const example = /^ \* @example\n((?: \*.*\n)+)/m.exec(comment)?.[1];
      return { name, file, code: example?.replaceAll(/^ \* ?/gm, "") };
    }),
  );
}

async function reExports(file: string): Promise<readonly { readonly name: string; readonly from: string }[]> {
  const text = await readFile(file, "utf8");
  return [...text.matchAll(/export (?:type )?\{([^}]*)\} from "(\.[^"]+)"/g)].flatMap(([, names = "", path = ""]) =>
    names.split(",").flatMap((part) => {
      const name = /(\w+)\s*$/.exec(part)?.[1];
      return name === undefined ? [] : [{ name, from: join(dirname(file), path) }];
    }),
  );
}

/** Follows a name to the file that declares it. `comment` is the doc comment without its first and last line. */
async function declarationOf(name: string, file: string): Promise<{ readonly file: string; readonly comment: string }> {
  const text = await readFile(file, "utf8");
  const kinds = "(?:async )?(?:type|interface|class|const|function\\*?)";
  const found = new RegExp(`^export ${kinds} ${name}\\b`, "m").exec(text);
  if (found === null) {
    const passed = (await reExports(file)).find((one) => one.name === name);
    if (passed === undefined) throw new Error(`${file} does not export ${name}.`);
    return declarationOf(name, passed.from);
  }
  const before = text.slice(0, found.index).replace(/(?:^\/\/.*\n)+$/m, "");
  const comment = before.endsWith(" */\n") ? before.slice(before.lastIndexOf("/**\n") + 4, -4) : "";
  return { file, comment };
}
