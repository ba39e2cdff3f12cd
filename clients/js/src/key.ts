// Keys: random, or derived from business fields.
import { sha256Hex } from "./sha256.js";

// Node 18 has it as a module only; the name is a variable, so that no bundler for browsers looks for it.
const nodeCrypto = "node:crypto";
const source: Crypto = globalThis.crypto ?? (await import(nodeCrypto)).webcrypto;

/** UUIDv7. */
export function randomKey(nowMs: number = Date.now()): string {
  const bytes = source.getRandomValues(new Uint8Array(16));
  for (let i = 5, time = nowMs; i >= 0; i--, time = Math.floor(time / 256)) bytes[i] = time % 256;
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Each part with its length before it, so that ("ab", "c") and ("a", "bc") give different bytes. */
export function lengthPrefixed(label: string, parts: readonly string[]): Uint8Array {
  const encoder = new TextEncoder();
  const bytes: number[] = Array.from(encoder.encode(label));
  for (const part of parts) {
    const data = encoder.encode(part);
    let length = data.length;
    for (; length >= 0x80; length = Math.floor(length / 128)) bytes.push((length % 128) | 0x80);
    bytes.push(length);
    for (const byte of data) bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

/** The same fields give the same key in every client: derivedKey("order-17", "user-3", "charge"). */
export function derivedKey(...fields: string[]): string {
  return sha256Hex(lengthPrefixed("onceward key 1\n", fields));
}

export function checkKey(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw new TypeError("a key has 1 to 255 visible ASCII characters");
  return key;
}
