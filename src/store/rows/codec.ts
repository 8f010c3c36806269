// How values stand in rows, of every adapter: ids as 16 bytes, names as small integers, response codes as two bytes
// each. The numbers are on disk: names may be added at the end, never moved.
import type { Mode } from '../../model/api-key.ts';
import type { AttemptTrigger, Outcome } from '../../model/attempt.ts';
import type { DeadReason, DeliveryOrigin, DeliveryStatus } from '../../model/delivery.ts';
import type { DestinationStatus, PausedReason } from '../../model/destination.ts';

/**
 * Of a column, for a copy. `id`: 16 bytes. `words`: text that people wrote, with any character in it. `body`: bytes
 * that may be long; a row that is read back to be checked has their SHA-256 instead.
 */
export type ColumnKind = 'id' | 'integer' | 'real' | 'flag' | 'text' | 'words' | 'bytes' | 'body';

/** A name and its number, both ways. */
export type Code<Name extends string> = {
  numberOf(name: Name): number;
  nameOf(number: number): Name;
};

function createCode<Name extends string>(names: readonly Name[]): Code<Name> {
  const numbers = new Map(names.map((name, number) => [name, number]));
  return {
    numberOf(name) {
      const number = numbers.get(name);
      if (number === undefined) throw new Error(`no number on disk for '${name}'`);
      return number;
    },
    nameOf(number) {
      const name = names[number];
      if (name === undefined) throw new Error(`no name for the number ${number} on disk`);
      return name;
    },
  };
}

export const modeCode = createCode<Mode>(['live', 'test']);
export const destinationStatusCode = createCode<DestinationStatus>(['active', 'paused']);
export const pausedReasonCode = createCode<PausedReason>(['manual', 'failing', 'gone']);
export const deliveryStatusCode = createCode<DeliveryStatus>(['pending', 'retrying', 'succeeded', 'dead']);
export const originCode = createCode<DeliveryOrigin>(['event', 'replay']);
export const triggerCode = createCode<AttemptTrigger>(['schedule', 'manual']);
export const deadReasonCode = createCode<DeadReason>([
  'exhausted',
  'gone',
  'destination_deleted',
  'expired',
  'backlog_full',
]);
export const outcomeCode = createCode<Outcome>([
  'succeeded',
  'bad_status',
  'timed_out',
  'connect_failed',
  'dns_failed',
  'tls_failed',
  'blocked',
  'reset',
  'invalid_response',
  'cancelled',
]);

// Delivery statuses as the rows have them, for code that compares rather than shows.
export const PENDING = 0;
export const RETRYING = 1;
export const SUCCEEDED = 2;
export const DEAD = 3;

/** Unfinished: pending or retrying. In SQL: `status <= 1`, the words of the partial index. */
export function isUnfinished(status: number): boolean {
  return status <= RETRYING;
}

/** Above every UUIDv7. */
export const ID_BYTES_MAX: Uint8Array = new Uint8Array(16).fill(0xff);

/** A nullable column's code. */
export function numberOrNull<Name extends string>(code: Code<Name>, name: Name | null): number | null {
  return name === null ? null : code.numberOf(name);
}

export function nameOrNull<Name extends string>(code: Code<Name>, number: number | null): Name | null {
  return number === null ? null : code.nameOf(number);
}

/** One code as a row has it: two bytes, big-endian. */
export function encodeResponseCode(code: number | null): Uint8Array {
  return Uint8Array.of((code ?? 0) >>> 8, (code ?? 0) & 0xff);
}

export function decodeResponseCodes(codes: Uint8Array): (number | null)[] {
  const decoded: (number | null)[] = [];
  for (let i = 0; i < codes.length; i += 2) {
    const code = (codes[i]! << 8) | codes[i + 1]!;
    decoded.push(code === 0 ? null : code);
  }
  return decoded;
}
