/** One requirement of an interface. A suite is a list of them, for any test runner. */
export interface ConformanceCase {
  /** The requirement, such as `rejects a request that is already aborted`. */
  readonly name: string;
  /** Checks the requirement. Rejects with an error that says what is wrong. */
  run(): Promise<void>;
}

/** Returns a case for each requirement. Each case opens a subject of its own and closes it, if it can be closed. */
export function conformanceCases<Subject extends object>(
  open: () => Subject | Promise<Subject>,
  requirements: Readonly<Record<string, (subject: Subject) => void | Promise<void>>>,
): ConformanceCase[] {
  return Object.entries(requirements).map(([name, check]) => ({
    name,
    run: async () => {
      const subject = await open();
      try {
        await check(subject);
      } finally {
        if (Symbol.asyncDispose in subject) await (subject as AsyncDisposable)[Symbol.asyncDispose]();
      }
    },
  }));
}
