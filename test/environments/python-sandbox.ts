/**
 * The sandbox of tests that are not about sandboxes: the one that starts soonest of those that
 * `LYCEUM_TEST_SANDBOXES` says are there, else the one that is always there.
 */
export const pythonSandbox: "bubblewrap" | "pyodide" = (process.env.LYCEUM_TEST_SANDBOXES ?? "")
  .split(",")
  .includes("bubblewrap")
  ? "bubblewrap"
  : "pyodide";
