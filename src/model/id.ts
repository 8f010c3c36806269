// Ids: a type prefix and a UUIDv7 in Crockford base32 (TypeID, https://github.com/jetify-com/typeid).
// The 16 bytes are 48 bits of milliseconds, 12 of counter, 8 of shard (byte 9) and randomness, so an id
// sorts by its time, names its partition and shard, and *is* the resource's created_at.

export type DestinationId = `dst_${string}`;
export type SubscriptionId = `sub_${string}`;
export type EventId = `evt_${string}`;
export type DeliveryId = `dlv_${string}`;
export type SigningKeyId = `sgk_${string}`;
export type ApiKeyId = `key_${string}`;
export type NodeId = `nod_${string}`;
export type OperationId = `op_${string}`;
export type MessageId = `msg_${string}`;

export type IdPrefix = 'dst' | 'sub' | 'evt' | 'dlv' | 'sgk' | 'key' | 'req' | 'nod' | 'msg' | 'op';

/** The id type that a prefix stands for: `IdOf<'evt'>` is `EventId`. */
export type IdOf<P extends IdPrefix> = `${P}_${string}`;

export const SHARD_COUNT = 256;
export const ALL_SHARDS: readonly number[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const SUFFIX_LENGTH = 26;
const SHARD_BYTE = 9;

const DIGIT_OF = new Int8Array(128).fill(-1);
for (let digit = 0; digit < 32; digit++) DIGIT_OF[ALPHABET.charCodeAt(digit)] = digit;

/** A prefix, `_`, 26 digits. A text made piece by piece would be a tree of its pieces until somebody looks into it. */
const scratch = Buffer.alloc(4 + SUFFIX_LENGTH);
const UNDERSCORE = 0x5f;

/** Writes 16 bytes, from `first` on, as an id. The 130 bits of 26 digits begin with two zero bits. */
export function formatId<P extends IdPrefix>(prefix: P, bytes: Uint8Array, first = 0): IdOf<P> {
  for (let i = 0; i < prefix.length; i++) scratch[i] = prefix.charCodeAt(i);
  let at = prefix.length;
  scratch[at++] = UNDERSCORE;
  let pending = 0;
  let pendingBits = 2;
  for (let i = 0; i < 16; i++) {
    pending = (pending << 8) | bytes[first + i]!;
    pendingBits += 8;
    while (pendingBits >= 5) {
      pendingBits -= 5;
      scratch[at++] = ALPHABET.charCodeAt((pending >>> pendingBits) & 31);
    }
    pending &= 31;
  }
  return scratch.toString('latin1', 0, at) as IdOf<P>;
}

/**
 * The 16 bytes of an id that is known to be well-formed; throws on any other text (a programming error). `into`: where
 * they are written, and what is returned.
 */
export function idBytes(id: string, into: Uint8Array = new Uint8Array(16)): Uint8Array {
  if (!decodeSuffix(id, id.indexOf('_') + 1, into)) throw new Error(`not an id: ${id}`);
  return into;
}

/** Whether a text from outside is an id of this kind: exact prefix, 26 lower-case digits, at most 128 bits. */
export function isId<P extends IdPrefix>(prefix: P, text: string): text is IdOf<P> {
  return (
    text.length === prefix.length + 1 + SUFFIX_LENGTH &&
    text.startsWith(prefix) &&
    text[prefix.length] === '_' &&
    decodeSuffix(text, prefix.length + 1, scratch)
  );
}

/** Unix milliseconds at which the id was made. */
export function idTime(id: string): number {
  const start = id.indexOf('_') + 1;
  let time = 0;
  // The first ten digits carry 2 zero bits and the 48 bits of time.
  for (let i = 0; i < 10; i++) time = time * 32 + DIGIT_OF[id.charCodeAt(start + i)]!;
  return time;
}

/** The shard of a destination, a random byte of its id; a delivery's id has that of its destination. */
export function idShard(id: string): number {
  // Byte 9 is bits 74-81 of the 130 that the digits carry: the end of digit 14, digit 15, the start of digit 16.
  const start = id.indexOf('_') + 1;
  const digit = (index: number): number => DIGIT_OF[id.charCodeAt(start + index)]!;
  return ((digit(14) & 1) << 7) | (digit(15) << 2) | (digit(16) >>> 3);
}

/** The smallest 16 bytes that an id made at `time` (Unix ms) or later can have. */
export function firstIdBytesAt(time: number): Uint8Array {
  const bytes = new Uint8Array(16);
  writeIdTime(bytes, 0, Math.min(Math.max(0, time), 2 ** 48 - 1));
  return bytes;
}

/** Makes one UUIDv7 of 16 random bytes, from `first` on. `counter`: 0-4095. `shard`: null leaves it random. */
export function layOutId(
  bytes: Uint8Array,
  first: number,
  { time, counter, shard }: { time: number; counter: number; shard: number | null },
): void {
  writeIdTime(bytes, first, time);
  bytes[first + 6] = 0x70 | (counter >>> 8);
  bytes[first + 7] = counter & 0xff;
  bytes[first + 8] = 0x80 | (bytes[first + 8]! & 0x3f);
  if (shard !== null) bytes[first + SHARD_BYTE] = shard;
}

function writeIdTime(bytes: Uint8Array, first: number, time: number): void {
  const high = Math.floor(time / 2 ** 32);
  const low = time >>> 0;
  bytes[first] = high >>> 8;
  bytes[first + 1] = high & 0xff;
  bytes[first + 2] = low >>> 24;
  bytes[first + 3] = (low >>> 16) & 0xff;
  bytes[first + 4] = (low >>> 8) & 0xff;
  bytes[first + 5] = low & 0xff;
}

/** False: the text is no suffix, and `bytes` are not to be used. */
function decodeSuffix(text: string, start: number, bytes: Uint8Array): boolean {
  if (text.length - start !== SUFFIX_LENGTH) return false;
  let pending = 0;
  let pendingBits = -2;
  let length = 0;
  for (let i = 0; i < SUFFIX_LENGTH; i++) {
    const code = text.charCodeAt(start + i);
    const digit = code < 128 ? DIGIT_OF[code]! : -1;
    if (digit < 0 || (i === 0 && digit > 7)) return false;
    pending = (pending << 5) | digit;
    pendingBits += 5;
    if (pendingBits >= 8) {
      pendingBits -= 8;
      bytes[length++] = (pending >>> pendingBits) & 0xff;
      pending &= (1 << pendingBits) - 1;
    }
  }
  return true;
}
