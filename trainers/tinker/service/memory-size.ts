/** Returns about the number of bytes of plain data in memory: those of its arrays, and 64 for each object. */
export function memorySize(value: unknown): number {
  if (ArrayBuffer.isView(value)) return 64 + value.byteLength;
  if (value === null || typeof value !== "object") return 8;
  return Object.values(value).reduce((sum: number, part) => sum + memorySize(part), 64);
}
