/*
 * Preloaded into a process and its worker threads, with `--expose-gc`. For each message of the parent process, all
 * threads collect their garbage, and the parent gets the sum of their used heaps in bytes.
 */
import { setTimeout as pause } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";

const channel = new BroadcastChannel("memory-report");
const usedHeap = (): number => {
  (globalThis as { readonly gc?: () => void }).gc?.();
  return process.memoryUsage().heapUsed;
};
(channel as unknown as { unref(): void }).unref();

if (isMainThread) {
  let sum = 0;
  channel.onmessage = ({ data }) => {
    if (typeof data === "number") sum += data;
  };
  process.on("message", async () => {
    sum = usedHeap();
    channel.postMessage("report");
    await pause(1_000);
    process.send?.(sum);
  });
} else {
  channel.onmessage = ({ data }) => {
    if (data === "report") channel.postMessage(usedHeap());
  };
}
