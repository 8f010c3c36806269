// How values stand in rows, of every adapter: ids as 16 bytes, names as small integers, response codes as two bytes
// each. The numbers are on disk: a new name takes the next one, and no name ever changes its own.
import type { Mode } from '../../model/api-key.ts';
import type { AttemptTrigger, Outcome } from '../../model/attempt.ts';
import type { DeadReason, DeliveryOrigin, DeliveryStatus } from '../../model/delivery.ts';
import type { DestinationStatus, PausedReason, SignatureStyle } from '../../model/destination.ts';
import type { OperationStatus } from '../../model/operation.ts';

/**
 * Of a column, for a copy. `id`: 16 bytes. `words`: text that people wrote, with any character in it. `body`: bytes
 * that may be long; a row that is read back to be checked has their SHA-256 instead.
 */
export type ColumnKind = 'id' | 'integer' | 'real' | 'flag' | 'text' | 'words' | 'bytes' | 'body';

type Code<Name extends string> = ReturnType<typeof createCode<Name>>;

/** Names and their numbers on disk, both ways. Throws for what has no counterpart. */
export function createCode<Name extends string>(numbers: Readonly<Record<Name, number>>) {
  const names: Name[] = [];
  for (const name in numbers) names[numbers[name]] = name;
  return {
    numberOf(name: Name): number {
      const number = numbers[name];
      if (number === undefined) throw new Error(`no number on disk for '${name}'`);
      return number;
    },
    nameOf(number: number): Name {
      const name = names[number];
      if (name === undefined) throw new Error(`no name for the number ${number} on disk`);
      return name;
    },
  };
}

export const modeCode = createCode<Mode>({ live: 0, test: 1 });
export const destinationStatusCode = createCode<DestinationStatus>({ active: 0, paused: 1 });
export const pausedReasonCode = createCode<PausedReason>({ manual: 0, failing: 1, gone: 2 });
export const signatureStyleCode = createCode<SignatureStyle>({ standard: 0, svix: 1 });
export const deliveryStatusCode = createCode<DeliveryStatus>({ pending: 0, retrying: 1, succeeded: 2, dead: 3 });
export const originCode = createCode<DeliveryOrigin>({ event: 0, replay: 1 });
export const triggerCode = createCode<AttemptTrigger>({ schedule: 0, manual: 1 });
export const deadReasonCode = createCode<DeadReason>({
  exhausted: 0,
  gone: 1,
  destination_deleted: 2,
  expired: 3,
  backlog_full: 4,
});
export const outcomeCode = createCode<Outcome>({
  succeeded: 0,
  bad_status: 1,
  timed_out: 2,
  connect_failed: 3,
  dns_failed: 4,
  tls_failed: 5,
  blocked: 6,
  reset: 7,
  invalid_response: 8,
  cancelled: 9,
});

export const operationStatusCode = createCode<OperationStatus>({
  running: 0,
  paused: 1,
  done: 2,
  cancelled: 3,
  failed: 4,
});

// Delivery statuses as the rows have them, for code that compares rather than shows.
export const PENDING = 0;
export const RETRYING = 1;
export const SUCCEEDED = 2;
export const DEAD = 3;

/** Unfinished: pending or retrying. In SQL: `status <= 1`, the words of the partial index. */
export function isUnfinished(status: number): boolean {
  return status <= RETRYING;
}

/** Below and above every UUIDv7. */
export const ID_BYTES_MIN: Uint8Array = new Uint8Array(16);
export const ID_BYTES_MAX: Uint8Array = new Uint8Array(16).fill(0xff);

/** A nullable column's code. */
export function numberOrNull<Name extends string>(code: Code<Name>, name: Name | null): number | null {
  return name === null ? null : code.numberOf(name);
}

export function nameOrNull<Name extends string>(code: Code<Name>, number: number | null): Name | null {
  return number === null ? null : code.nameOf(number);
}

/** The bytes of each code that was asked for: of at most 900 codes, and of 0 for none. */
const encodedCodes = new Map<number, Uint8Array>();

/** One code as a row has it: two bytes, big-endian. Always the same array, not to be written to. */
export function encodeResponseCode(code: number | null): Uint8Array {
  const number = code ?? 0;
  let encoded = encodedCodes.get(number);
  if (encoded === undefined) {
    encoded = Uint8Array.of(number >>> 8, number & 0xff);
    encodedCodes.set(number, encoded);
  }
  return encoded;
}

export function decodeResponseCodes(codes: Uint8Array): (number | null)[] {
  const decoded: (number | null)[] = [];
  for (let i = 0; i < codes.length; i += 2) {
    const code = (codes[i]! << 8) | codes[i + 1]!;
    decoded.push(code === 0 ? null : code);
  }
  return decoded;
}
