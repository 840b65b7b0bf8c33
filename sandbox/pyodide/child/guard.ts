/*
 * A thread next to Python. Kills this process if the parent process has ended, also if Python is in an infinite loop.
 */
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
}, 500);
