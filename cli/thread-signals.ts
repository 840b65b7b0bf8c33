import { createRequire } from "node:module";
import { constants } from "node:os";

/** What `process.on` uses for signals. */
interface SignalHandle {
  onsignal: () => void;
  unref(): void;
  start(signal: number): number;
}

interface TestBinding {
  internalBinding(name: string): { readonly Signal: new () => SignalHandle };
}

/** The options of a thread that can use {@link onThreadSignal}. */
export const signalExecArgv = ["--expose-internals", "--no-warnings"] as const;

/**
 * Calls `listener` in this thread when the process gets one of the signals. The listeners of other threads are called
 * too. Node has a public function for that on the main thread only, which cannot run it while code blocks that thread.
 * Does nothing if Node does not give access to its signal handles.
 */
export function onThreadSignal(signals: readonly NodeJS.Signals[], listener: () => void): void {
  try {
    const { internalBinding } = createRequire(import.meta.url)("internal/test/binding") as TestBinding;
    const { Signal } = internalBinding("signal_wrap");
    for (const signal of signals) {
      const handle = new Signal();
      handle.onsignal = listener;
      handle.unref();
      handle.start(constants.signals[signal]);
    }
  } catch {
    // Without signals here, a blocked process ends only at the time limit of its call, or by SIGKILL.
  }
}
