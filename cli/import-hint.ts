import { LyceumError } from "../src/contract/errors/index.ts";

/** Returns the hint for a module that cannot be imported: that of its error, if Lyceum threw it. */
export function importHint(error: unknown): string {
  if (LyceumError.isInstance(error) && error.hint) return error.hint;
  if (error instanceof Error && "code" in error && error.code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") {
    return "Node does not run TypeScript of an installed package. Publish it as JavaScript, or install it from its folder.";
  }
  if (isReadAsCommonJs(error)) {
    return 'It is read as CommonJS, by "type": "commonjs" in package.json or by its ending .cjs or .cts. Run npm pkg set type=module in its folder, or name it .mjs or .mts.';
  }
  return "Check that the module loads: run node with its path. Use --debug to print the stack.";
}

function isReadAsCommonJs(error: unknown): boolean {
  if (!(error instanceof SyntaxError)) return false;
  return /^Cannot use (?:import statement|'import\.meta') outside a module|^Unexpected token 'export'|^await is only valid/.test(
    error.message,
  );
}
