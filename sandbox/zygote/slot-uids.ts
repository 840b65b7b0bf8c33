const first = 0x4000_0000;
const slotsPerProcess = 128;

/**
 * Returns the user id of a slot's candidate. The judge has the next id. No other slot on the machine has these ids,
 * because the kernel counts a user's processes across all containers.
 */
export function slotUid(slot: number): number {
  return first + (process.pid % 0x40_0000) * 2 * slotsPerProcess + 2 * (slot % slotsPerProcess);
}
