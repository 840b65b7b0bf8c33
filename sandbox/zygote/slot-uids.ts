const first = 0x4000_0000;
const slotsPerProcess = 128;

/**
 * A pair of users for a slot that nobody else on the machine has: the kernel counts the processes of a user across all
 * containers. The candidate's is returned; its judge's is the next one.
 */
export function slotUid(slot: number): number {
  return first + (process.pid % 0x40_0000) * 2 * slotsPerProcess + 2 * (slot % slotsPerProcess);
}
