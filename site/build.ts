import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import {
  Application,
  Converter,
  type DocumentReflection,
  KindRouter,
  type ProjectReflection,
  type Reflection,
} from "typedoc";

/*
 * Builds the site: every document in the order of docs/README.md, and the API from the doc comments of each entry point.
 * Its headings are the sections of the navigation. Usage: node site/build.ts [FOLDER]
 */
const root = join(import.meta.dirname, "..");
const apiSection = "API reference";

/** A document of the site. */
interface Page {
  readonly section: string;
  readonly title: string;
  readonly path: string;
}

async function pages(): Promise<readonly Page[]> {
  const text = await readFile(join(root, "docs/README.md"), "utf8");
  const [, ...sections] = text.split(/^## /m);
  return sections.flatMap((section) => {
    const heading = section.slice(0, section.indexOf("\n"));
    return [...section.matchAll(/^- \[(.+?)\]\((\S+?\.md)\)/gm)].map(([, title = "", path = ""]) => ({
      section: heading,
      title,
      path: join(root, "docs", path),
    }));
  });
}

/** The source file of each entry point, by the name that a program imports. */
async function entryPoints(): Promise<ReadonlyMap<string, string>> {
  const { name, exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  const files = Object.entries(exports).flatMap(([path, target]): readonly (readonly [string, string])[] =>
    typeof target === "string"
      ? []
      : [[name + path.slice(1), join(root, target.default.replace(/^\.\/dist\/(.+)\.js$/, "$1.ts"))]],
  );
  return new Map(files);
}

const documents = await pages();
const entries = await entryPoints();
const sections = [...new Set(documents.map(({ section }) => section))];
const app = await Application.bootstrap({
  name: "Lyceum",
  includeVersion: true,
  tsconfig: join(root, "tsconfig.json"),
  entryPoints: [...entries.values()],
  projectDocuments: documents.map(({ path }) => path),
  readme: join(root, "README.md"),
  out: process.argv[2] ?? join(import.meta.dirname, "out"),
  sortEntryPoints: false,
  navigation: { includeCategories: true, includeGroups: false, includeFolders: false },
  categorizeByGroup: false,
  defaultCategory: apiSection,
  categoryOrder: sections.flatMap((section) => (section === "Reference" ? [section, apiSection] : [section])),
  searchInComments: true,
  searchInDocuments: true,
  disableSources: true,
  customCss: join(import.meta.dirname, "site.css"),
  hideGenerator: true,
  validation: { notExported: false, invalidLink: true, invalidPath: true, rewrittenLink: true },
  highlightLanguages: ["ts", "javascript", "json", "yaml", "python", "sh", "html", "diff"],
  skipErrorChecking: true,
});

/** A document's address is its path in the repository. */
class PathRouter extends KindRouter {
  protected override getIdealBaseName(reflection: Reflection): string {
    const path = reflection.isDocument() ? reflection.project.files.getReflectionPath(reflection) : undefined;
    return path === undefined ? super.getIdealBaseName(reflection) : relative(root, path).replace(/\.md$/, "");
  }
}
app.renderer.defineRouter("paths", PathRouter);
app.options.setValue("router", "paths");

let next = 0;
app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_: unknown, document: DocumentReflection) => {
  const page = documents[next++]!;
  document.name = page.title;
  document.frontmatter.category = page.section;
});

const names = new Map([...entries].map(([name, file]) => [file, name]));
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }: { readonly project: ProjectReflection }) => {
  for (const module of project.children ?? []) {
    const file = project.files.getReflectionPath(module);
    module.name = names.get(file ?? "") ?? module.name;
  }
});

const project = await app.convert();
if (project === undefined) throw new Error("The sources could not be read.");
app.validate(project);
await app.generateOutputs(project);
console.log(
  `${relative(process.cwd(), app.options.getValue("out"))}: ${documents.length} documents, ${entries.size} entry points`,
);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;
