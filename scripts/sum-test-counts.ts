import { readFileSync } from "node:fs";

/*
 * Sums the JSON reports of several test runs, given as arguments, and prints the counts in the format of a single run.
 */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly { readonly status: string }[];
}

const reports = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")) as Report);
const sum = (count: (report: Report) => number): number => reports.reduce((total, report) => total + count(report), 0);
const files = (wanted: (status: string) => boolean): number =>
  sum(({ testResults }) => testResults.filter(({ status }) => wanted(status)).length);

const line = (title: string, counts: Readonly<Record<string, number>>): string => {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  const total = parts.reduce((all, [, count]) => all + count, 0);
  return `${title.padStart(11)}  ${parts.map(([name, count]) => `${count} ${name}`).join(" | ")} (${total})`;
};

console.log(
  line("Test Files", {
    failed: files((status) => status === "failed"),
    passed: files((status) => status !== "failed"),
  }),
);
console.log(
  line("Tests", {
    failed: sum((report) => report.numFailedTests),
    passed: sum((report) => report.numPassedTests),
    skipped: sum((report) => report.numPendingTests + report.numTodoTests),
  }),
);
