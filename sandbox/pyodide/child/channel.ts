import { readSync, writeSync } from "node:fs";

/** The file descriptor that connects a child to the sandbox. Python has no access to it. */
const descriptor = 3;

/**
 * Waits for the next message. Returns undefined after the other side has closed. It blocks, because a child has no
 * other work.
 */
export function receive(): unknown {
  const head = read(4);
  const body = head && read(head.readUInt32LE());
  return body && JSON.parse(body.toString());
}

/** Sends a message: an object as JSON, or bytes unchanged. */
export function send(message: object | Uint8Array): void {
  const body = message instanceof Uint8Array ? message : Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  const small = body.length < 65_536;
  write(small ? Buffer.concat([head, body]) : head);
  if (!small) write(body);
}

function read(length: number): Buffer | undefined {
  const buffer = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const count = readSync(descriptor, buffer, at, length - at, null);
    if (count === 0) return undefined;
    at += count;
  }
  return buffer;
}

function write(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at, bytes.length - at);
}
