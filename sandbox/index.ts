export type { TarEntry } from "../src/core/files/tar-archive.ts";
export { type CreateSandboxOptions, createSandbox, type SandboxChoice } from "./create-sandbox.ts";
export type { ImageBuild } from "./docker/workspace/build-image.ts";
export { openWorkspaces, type Workspaces } from "./docker/workspace/open-workspaces.ts";
export type { Command, CommandResult } from "./docker/workspace/run-command.ts";
export { folderEntries } from "./docker/workspace/tar.ts";
export {
  TooManyChanges,
  type Workspace,
  type WorkspaceLimits,
  type WorkspaceOptions,
} from "./docker/workspace/workspace.ts";
export type {
  CallCase,
  CapturedOutput,
  CaseObservation,
  CodeError,
  ExecuteRequest,
  ExecuteResult,
  ExecuteStatus,
  ExecuteTask,
  Language,
  Usage,
} from "./execution.ts";
export type { Comparator } from "./grading/comparator.ts";
export { deduplicated } from "./grading/deduplicated.ts";
export { type CodeGrade, type Grade, type GradeOptions, gradeCode, type NoGrade } from "./grading/grade-code.ts";
export { compileJavascriptTests } from "./grading/javascript/compile-javascript-tests.ts";
export { compilePythonAsserts, compilePythonCheck } from "./grading/python/compile-python-tests.ts";
export { calledNames, definedNames } from "./grading/python/python-names.ts";
export { type PythonStatement, readPythonStatements } from "./grading/python/python-statements.ts";
export { type LogicalLine, type PythonToken, readLogicalLines } from "./grading/python/python-tokens.ts";
export { type UngradableTest, ungradableTest } from "./grading/python/ungradable-tests.ts";
export { standaloneGrader } from "./grading/standalone/standalone-grader.ts";
export type {
  CallSuite,
  CallTest,
  JudgeSuite,
  JudgeTest,
  ProgramSuite,
  ProgramTest,
  TestSuite,
} from "./grading/test-suite.ts";
export type { TestVerdict } from "./grading/test-verdict.ts";
export { defaultLimits, type Limits } from "./limits.ts";
export type { PlainValue } from "./plain-value.ts";
export { toPlainValue } from "./plain-value-conversion.ts";
export { showPlainValue } from "./plain-value-text.ts";
export type { Sandbox, SandboxInfo, SandboxStats } from "./sandbox.ts";
