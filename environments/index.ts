export type { TaskFolder } from "../src/contract/environment.ts";

import { createEnvironmentRegistry, type EnvironmentRegistry } from "../src/core/environment/registry.ts";
import { bugFixEntry } from "./bug-fix/bug-fix.ts";
import { classCompletionEntry } from "./class-completion/class-completion.ts";
import { codeEntry } from "./code/code.ts";
import { conversationsEntry } from "./conversations/conversations.ts";
import { countdownEntry } from "./countdown/countdown.ts";
import { debateEntry } from "./debate/debate.ts";
import { gsm8kEntry } from "./gsm8k/gsm8k.ts";
import { harborEntry } from "./harbor/harbor.ts";
import { kuhnPokerEntry } from "./kuhn-poker/kuhn-poker.ts";
import { mathEntry } from "./math/math.ts";
import { mathProblemsEntry } from "./math-problems/math-problems.ts";
import { numberGuessingEntry } from "./number-guessing/number-guessing.ts";
import { preferencesEntry } from "./preferences/preferences.ts";
import { ticTacToeEntry } from "./tic-tac-toe/tic-tac-toe.ts";
import { toolsEntry } from "./tools/tools.ts";
import { wordGuessingEntry } from "./word-guessing/word-guessing.ts";
import { writingEntry } from "./writing/writing.ts";

export { bugFixEntry, bugFixEnvironment } from "./bug-fix/bug-fix.ts";
export type { BugFixOptions } from "./bug-fix/bug-fix-options.ts";
export type { BugFixTask } from "./bug-fix/bug-fix-task.ts";
export { classCompletionEntry, classCompletionEnvironment } from "./class-completion/class-completion.ts";
export type { ClassCompletionOptions } from "./class-completion/class-completion-options.ts";
export type { ClassTask } from "./class-completion/class-task.ts";
export { type CodeBaselineName, codeBaseline, codeBaselineNames, type PairPolicies } from "./code/baselines.ts";
export { codeEntry, codeEnvironment } from "./code/code.ts";
export type { CodeOptions } from "./code/code-options.ts";
export type { ConversationTask } from "./conversations/conversation-task.ts";
export {
  type ConversationsOptions,
  conversationsEntry,
  conversationsEnvironment,
} from "./conversations/conversations.ts";
export { type CountdownOptions, countdownEntry, countdownEnvironment } from "./countdown/countdown.ts";
export type { CountdownTask } from "./countdown/countdown-task.ts";
export { debateEntry, debateEnvironment } from "./debate/debate.ts";
export type { DebateOptions } from "./debate/debate-options.ts";
export type { DebateResources } from "./debate/debate-resources.ts";
export type { DebateTopic } from "./debate/debate-topic.ts";
export { type Gsm8kOptions, gsm8kEntry, gsm8kEnvironment } from "./gsm8k/gsm8k.ts";
export { type HarborOptions, harborEntry, harborEnvironment } from "./harbor/harbor.ts";
export type { HarborTask } from "./harbor/harbor-task.ts";
export type { HarborConfig } from "./harbor/task-config.ts";
export {
  type KuhnPokerOptions,
  type KuhnPokerTask,
  kuhnPokerEntry,
  kuhnPokerEnvironment,
} from "./kuhn-poker/kuhn-poker.ts";
export { type AnswerChecker, createAnswerChecker } from "./math/answer-checker.ts";
export { mathEntry, mathEnvironment } from "./math/math.ts";
export type { MathOptions } from "./math/math-options.ts";
export type { MathTask } from "./math/math-problem.ts";
export { type AnswerVerifier, type Verdict, verifyAnswer } from "./math/verify-answer.ts";
export type { MathProblemTask } from "./math-problems/math-problem-row.ts";
export { type MathProblemsOptions, mathProblemsEntry, mathProblemsEnvironment } from "./math-problems/math-problems.ts";
export {
  type NumberGuessingOptions,
  type NumberGuessingTask,
  numberGuessingEntry,
  numberGuessingEnvironment,
} from "./number-guessing/number-guessing.ts";
export type { PreferenceTask } from "./preferences/preference-task.ts";
export { type PreferencesOptions, preferencesEntry, preferencesEnvironment } from "./preferences/preferences.ts";
export {
  type Benchmark,
  type BenchmarkFormat,
  type BenchmarkOptions,
  benchmarks,
  defineBenchmark,
  type FormatName,
} from "./shared/benchmarks/index.ts";
export type { CodeProblem } from "./shared/code-benchmarks/code-problem.ts";
export {
  type TicTacToeOptions,
  type TicTacToeTask,
  ticTacToeEntry,
  ticTacToeEnvironment,
} from "./tic-tac-toe/tic-tac-toe.ts";
export type { SearchEngine, SearchResult } from "./tools/search-tool.ts";
export { type ToolsResources, toolsEntry, toolsEnvironment } from "./tools/tools.ts";
export type { ToolsOptions } from "./tools/tools-options.ts";
export type { ToolsState } from "./tools/tools-state.ts";
export type { ToolsTask } from "./tools/tools-task.ts";
export { braveSearch, searxngSearch, tavilySearch, type WebSearchOptions } from "./tools/web-search.ts";
export { type WinRateOptions, winRateEnvironment } from "./win-rate/win-rate.ts";
export {
  type WordGuessingOptions,
  type WordGuessingTask,
  wordGuessingEntry,
  wordGuessingEnvironment,
} from "./word-guessing/word-guessing.ts";
export { type WritingOptions, type WritingTask, writingEntry, writingEnvironment } from "./writing/writing.ts";

/** All built-in environments, by name. */
export const environments: EnvironmentRegistry = createEnvironmentRegistry([
  mathEntry,
  gsm8kEntry,
  mathProblemsEntry,
  codeEntry,
  bugFixEntry,
  classCompletionEntry,
  debateEntry,
  countdownEntry,
  numberGuessingEntry,
  wordGuessingEntry,
  ticTacToeEntry,
  toolsEntry,
  harborEntry,
  kuhnPokerEntry,
  writingEntry,
  conversationsEntry,
  preferencesEntry,
]);
