// PostgreSQL's errors as errors of the store, told apart by SQLSTATE or Node's code, never by text.
import { StoreError, type StoreErrorCode } from '../../store.ts';

/** Five characters; null: the error did not come from the server. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  return 'severity' in error && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}

/** What was read is not there any more: another transaction came between. */
export class Overtaken extends Error {}

/** Another transaction was in the way; the same work may be tried again at once. */
export function isConflict(error: unknown): boolean {
  if (error instanceof Overtaken) return true;
  const state = sqlState(error);
  return state === '40001' || state === '40P01';
}

/** What was given cannot be stored: alone it fails again, but what was stored beside it need not. */
export function isDataError(error: unknown): boolean {
  const state = sqlState(error);
  return state !== null && (state.startsWith('22') || state.startsWith('23') || state === '54000');
}

/** There is a row of that key already. */
export function isDuplicateRow(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/** A row's partition is not there: check_violation without the name of a constraint. */
export function isPartitionMissing(error: unknown): boolean {
  return sqlState(error) === '23514' && (error as { constraint?: string }).constraint === undefined;
}

/** A lock was not to be had within `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/** A lock was not to be had in time, or a statement that waits for one on another machine was not done in time. */
export function isWaitOver(error: unknown): boolean {
  return isLockTimeout(error) || sqlState(error) === '57014';
}

/** Another transaction, which does not end, holds an idempotency key of the batch. */
export function keyLocked(cause?: unknown): StoreError {
  return new StoreError('key_locked', 'an unfinished transaction holds the idempotency key; try again', { cause });
}

export function isKeyLocked(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'key_locked';
}

/** A new connection found a server that takes no writes. */
export class ReadOnlyServer extends Error {}

/**
 * The server takes no writes: a standby, or a primary that was told so. Another connection may find the primary, this
 * one never will.
 */
export function isReadOnly(error: unknown): boolean {
  return error instanceof ReadOnlyServer || sqlState(error) === '25006';
}

// 57P01-57P03: the server stops, has crashed, is starting.
const AWAY = /^(08|57P0[1-5]|53300|53400)/;
const SEVERE = new Set(['FATAL', 'PANIC']);

/** The server has said no, and stands: whatever the statement was, it has not been done. */
export function isRefusal(error: unknown): boolean {
  return sqlState(error) !== null && !SEVERE.has((error as { severity?: string }).severity ?? '');
}

/**
 * The connection is gone, or was never there. What was sent on it may or may not have been done; nothing more will be.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof StoreError) return false;
  if (isReadOnly(error)) return true;
  const state = sqlState(error);
  if (state === null) return !(error instanceof TypeError || error instanceof RangeError || isOurs(error));
  return AWAY.test(state) || !isRefusal(error);
}

// pg rejects with bare Errors when a connection ends, Node with errors of the network that have a code. Errors that
// our own statements' functions throw are not made by either.
function isOurs(error: Error): boolean {
  return !('code' in error) && !CONNECTION_TEXT.some((text) => error.message.startsWith(text));
}

const NO_TLS = 'The server does not support SSL connections';

// The one place where messages count: pg gives these errors neither a class nor a code.
const CONNECTION_TEXT = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
  NO_TLS,
];

const CODES: readonly (readonly [RegExp, StoreErrorCode, string])[] = [
  [/^53100/, 'disk_full', 'the database server’s disk is full: free some space there; writing resumes by itself'],
  [/^XX00[12]/, 'corrupt', 'the database is damaged: stop the service, keep a copy, restore the last backup'],
  [
    /^(28|3D000|3F000|42501)/,
    'unwritable',
    'the database refuses us: check user, password, database name, rights and sslmode in POSTRIDER_DATABASE_URL',
  ],
  [
    /^26000/,
    'unwritable',
    'a statement that was prepared is gone: a pooler between must pool by session, not by transaction',
  ],
  [/^(53|55P03|57014|57P|58|25P0[23]|08|40|XX000)/, 'unavailable', 'the database cannot be used just now'],
];

/** Those whose message alone would leave an operator guessing. What the server says never has a password in it. */
const EXPLAINED: readonly StoreErrorCode[] = ['unwritable', 'unavailable'];

/** What the caller of a store method gets. Errors that are not the database's pass unchanged. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof StoreError) return error;
  if (isReadOnly(error)) return readOnly(error);
  const state = sqlState(error);
  if (state === null) return isConnectionLoss(error) ? unavailable(error) : error;
  const found = CODES.find(([pattern]) => pattern.test(state));
  // Such as a database that takes no connections for now (55000), which ends each that is made.
  if (found === undefined) return isConnectionLoss(error) ? unavailable(error) : error;
  const [, code, message] = found;
  if (code === 'unavailable' && isConnectionLoss(error)) return unavailable(error);
  return new StoreError(code, message, {
    cause: error,
    ...(EXPLAINED.includes(code) ? { detail: explain(error) } : {}),
  });
}

function readOnly(cause: unknown): StoreError {
  return new StoreError(
    'unavailable',
    'the database is read-only (a standby, or default_transaction_read_only is on): let POSTRIDER_DATABASE_URL ' +
      'lead to the primary, or make this one writable; the service goes on by itself then',
    { cause },
  );
}

export function unavailable(cause: unknown): StoreError {
  return new StoreError('unavailable', 'the database of POSTRIDER_DATABASE_URL cannot be reached', {
    detail: explain(cause),
    cause,
  });
}

/** Of Node and OpenSSL: what is wrong with the server's certificate, or with ours. */
const TLS_FAILURE = /^(ERR_(TLS|SSL|OSSL)_|CERT_|UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_)/;

const OTHER_HOST = 'ERR_TLS_CERT_ALTNAME_INVALID';

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message } = error;
  if (message === NO_TLS) return 'the server has no TLS, which the URL asks for (sslmode)';
  const code = 'code' in error ? String(error.code) : '';
  if (code === OTHER_HOST) return `TLS failed: the certificate is for another host than the URL names. ${message}`;
  // Of a name with several addresses, of which none answers, Node tells no more than the code.
  if (!TLS_FAILURE.test(code)) return message === '' ? code : message;
  return `TLS failed: ${message}. sslrootcert in the URL must name the CA that the server's certificate is from`;
}
