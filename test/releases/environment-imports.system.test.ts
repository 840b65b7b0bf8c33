import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import {
  isExportDeclaration,
  isImportDeclaration,
  isNamedExports,
  isNamedImports,
  isStringLiteral,
  type Node,
  type SourceFile,
} from "typescript/unstable/ast";
import { API, type Checker, type Symbol as CodeSymbol, SymbolFlags } from "typescript/unstable/sync";
import { expect, test } from "vitest";
import { repository } from "../examples/run-program.ts";

/** Returns the sources of the package's entry points. */
async function entryPoints(): Promise<string[]> {
  const manifest = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [] : [join(repository, target.types.replace(/^\.\/dist\/(.+)\.d\.ts$/, "$1.ts"))],
  );
}

/** Returns the declaration that a symbol stands for, through all imports and exports. */
function declared(checker: Checker, symbol: CodeSymbol): number {
  return (symbol.flags & SymbolFlags.Alias) === 0 ? symbol.id : checker.getAliasedSymbol(symbol).id;
}

/** A name that a file imports or exports from a module. The name of a whole module is `*`. */
interface ImportedName {
  readonly module: string;
  readonly name: string;
  readonly node: Node;
}

function importedNames({ statements }: SourceFile): ImportedName[] {
  const found: ImportedName[] = [];
  for (const statement of statements) {
    if (!isImportDeclaration(statement) && !isExportDeclaration(statement)) continue;
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !isStringLiteral(moduleSpecifier)) continue;
    const module = moduleSpecifier.text;
    const bindings = isImportDeclaration(statement) ? statement.importClause?.namedBindings : statement.exportClause;
    if (bindings === undefined || !(isNamedImports(bindings) || isNamedExports(bindings))) {
      found.push({ module, name: "*", node: statement });
    } else {
      for (const { name } of bindings.elements) found.push({ module, name: name.text, node: name });
    }
  }
  return found;
}

test("environments import nothing that no entry point exports", { timeout: 60_000 }, async () => {
  const api = new API({ cwd: repository });
  try {
    const config = join(repository, "tsconfig.json");
    const { program, checker } = api.updateSnapshot({ openProjects: [config] }).getProject(config)!;
    const exported = new Set<number>();
    for (const path of await entryPoints()) {
      const module = checker.getSymbolAtLocation(program.getSourceFile(path)!)!;
      for (const symbol of checker.getExportsOfModule(module)) exported.add(declared(checker, symbol));
    }
    const folder = join(repository, "environments");
    const files = program.getSourceFileNames().filter((path) => path.startsWith(`${folder}/`));
    expect(files.length).toBeGreaterThan(100);
    const internal: string[] = [];
    let imported = 0;
    for (const path of files) {
      for (const { module, name, node } of importedNames(program.getSourceFile(path)!)) {
        if (!module.startsWith(".") || join(dirname(path), module).startsWith(`${folder}/`)) continue;
        imported += 1;
        const symbol = checker.getSymbolAtLocation(node);
        if (symbol === undefined || !exported.has(declared(checker, symbol))) {
          internal.push(`${relative(repository, path)} imports ${name} of ${module}`);
        }
      }
    }
    expect(imported).toBeGreaterThan(100);
    expect(internal).toEqual([]);
  } finally {
    api.close();
  }
});
