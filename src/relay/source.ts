// The database that an outbox is in: the connections of a relay to it, and which of its errors time may mend.
import { openPool, type withConnection } from '../store/postgres/wire/connections.ts';
import type { DatabaseAddress } from '../store/postgres/wire/database-address.ts';
import { isConflict, isConnectionLoss, isReadOnly, sqlState } from '../store/postgres/wire/errors.ts';

export type Pool = ReturnType<typeof openPool>;
export type Client = Parameters<Parameters<typeof withConnection>[1]>[0];

/** The turn's, one that reads and one that says what is published. */
const CONNECTIONS_MAX = 3;

const SETTINGS = [
  "TimeZone = 'UTC'",
  // A deletion that a crash undoes is made again: the row is published under the same key before.
  'synchronous_commit = off',
];

export function openSource(address: DatabaseAddress): Pool {
  return openPool({ ...address, settings: SETTINGS }, CONNECTIONS_MAX);
}

/** No user, password, database, table, column or right; or a value that cannot be what it is said to be. */
const LASTING = /^(0A|22|23|28|3D|3F|42)/;
const PASSING = /^(25|53|55|57|58)/;

/** Whether the same may succeed later; all else is thrown to who started the relay. */
export function mayPass(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null && LASTING.test(state)) return false;
  return isConnectionLoss(error) || isConflict(error) || isReadOnly(error) || PASSING.test(state ?? '');
}

/** Of a name with several addresses, of which none answers, Node tells no more than the code. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === '' && 'code' in error ? String(error.code) : error.message;
}
