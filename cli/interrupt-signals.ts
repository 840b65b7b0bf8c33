/** The signals that ask a command to end: Ctrl-C, `kill`, and a closed terminal. */
export const interruptSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
