import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

/*
 * For `node --import`: resolves "lyceum" and its subpaths to the sources of this repository instead of the last build,
 * so that examples and documents run unchanged.
 */
const root = new URL("../", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const isOurs = specifier === "lyceum" || specifier.startsWith("lyceum/");
    const target = isOurs ? manifest.exports[`.${specifier.slice("lyceum".length)}`] : undefined;
    if (typeof target !== "object") return nextResolve(specifier, context);
    const source = target.default.replace(/^\.\/dist\/(.+)\.js$/, "$1.ts");
    return { url: new URL(source, root).href, shortCircuit: true };
  },
});
