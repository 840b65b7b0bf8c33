/**
 * The sandbox of tests that are not about sandboxes: the fastest one to start of `LYCEUM_TEST_SANDBOXES`, otherwise the
 * one that always works.
 */
export const pythonSandbox: "bubblewrap" | "pyodide" = (process.env.LYCEUM_TEST_SANDBOXES ?? "")
  .split(",")
  .includes("bubblewrap")
  ? "bubblewrap"
  : "pyodide";
