// Randomness, handed in, so that a simulation can seed it.
import { randomFillSync } from 'node:crypto';

export interface Random {
  /** `length` unpredictable bytes, the caller's to keep. */
  bytes(length: number): Uint8Array;
  /** Uniform in [0, 1); not for secrets. */
  fraction(): number;
}

export const systemRandom: Random = {
  bytes: (length) => randomFillSync(new Uint8Array(length)),
  fraction: () => Math.random(),
};

/** `count` uniform digits below `base` (≤ 256), by rejection: no digit is likelier than another. */
export function randomDigits(random: Random, { count, base }: { count: number; base: number }): number[] {
  const limit = 256 - (256 % base);
  const digits: number[] = [];
  while (digits.length < count) {
    for (const byte of random.bytes(count)) {
      if (byte < limit && digits.length < count) digits.push(byte % base);
    }
  }
  return digits;
}
