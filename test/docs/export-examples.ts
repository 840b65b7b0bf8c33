import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** An export of an entry point, with the example of its doc comment. */
export interface ExportExample {
  readonly name: string;
  /** The file that declares it. */
  readonly file: string;
  /** The code after `@example`; undefined if there is none. */
  readonly code: string | undefined;
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
