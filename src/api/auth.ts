// Who is calling: API keys, held in memory by their SHA-256, so that a request costs no look-up in the store.
import { hash } from 'node:crypto';
import { isApiKey, type ApiKey, type Mode } from '../model/api-key.ts';
import { ApiError } from '../model/error.ts';
import type { ApiKeyId } from '../model/id.ts';
import { delay, type Clock } from '../runtime/clock.ts';
import type { Store } from '../store/store.ts';

export type Authenticator = ReturnType<typeof createAuthenticator>;

const MINUTE_MS = 60_000;
/** Made-up keys must not make the store busy, and wait as long at most. */
const UNKNOWN_REFRESH_INTERVAL_MS = 100;
const KNOWN_MAX = 1_000;

/** The key has a key's form, but is not among those in memory. */
export class UnknownKeyError extends ApiError {
  constructor() {
    super('unauthorized', 'the API key is unknown or was revoked');
  }
}

export function createAuthenticator({ store, clock }: { store: Pick<Store, 'readApiKeys'>; clock: Clock }) {
  let keys = new Map<string, ApiKey>();
  let keysById = new Map<ApiKeyId, ApiKey>();
  /** By the whole header, those that were good: a digest, a checksum and a parse less for nearly every request. */
  let known = new Map<string, ApiKey>();
  const uses = createUses();
  let refreshesBegun = 0;
  let refreshApplied = 0;

  /** Reads all keys anew: after a change of them here, or when the store says there was one elsewhere. */
  const refresh = async (): Promise<void> => {
    const turn = ++refreshesBegun;
    const read = await store.readApiKeys();
    // Of two under way the one that began later has read the newer state, whichever answers first.
    if (turn < refreshApplied) return;
    refreshApplied = turn;
    keys = new Map(read.map((key) => [key.hash.toBase64(), key]));
    keysById = new Map(read.map((key) => [key.id, key]));
    known = new Map();
  };

  const find = (authorization: string | undefined): ApiKey => {
    const secret = bearerToken(authorization);
    if (secret === null) throw unauthorized('send the header "Authorization: Bearer <API_KEY>"');
    if (!isApiKey(secret)) throw unauthorized('this is not an API key; check that it was copied whole');
    // Looking up a digest takes a time that says nothing about how much of a guessed key was right.
    const key = keys.get(digest(secret));
    if (key === undefined) throw new UnknownKeyError();
    if (known.size < KNOWN_MAX) known.set(authorization!, key);
    return key;
  };

  const use = (key: ApiKey): ApiKey => {
    const now = clock.now();
    if (key.expiresAt !== null && key.expiresAt <= now) throw unauthorized('the API key has expired');
    uses.record(key, now);
    return key;
  };

  return {
    /** Of an `Authorization` header. Throws ApiError `unauthorized`, an UnknownKeyError if the key is well-formed. */
    authenticate(authorization: string | undefined): ApiKey {
      // V8 compares strings only when their seeded hashes are equal: a near miss takes as long as any other.
      return use(known.get(authorization ?? '') ?? find(authorization));
    },
    /** Of a session, which names its key. Throws as `authenticate` does. */
    authenticateId(id: ApiKeyId): ApiKey {
      const key = keysById.get(id);
      if (key === undefined) throw new UnknownKeyError();
      return use(key);
    },
    /** The newest of those that may do most; null: there is none that is valid. */
    broadestKey(mode: Mode): ApiKey | null {
      const valid = [...keys.values()].filter((key) => key.mode === mode && (key.expiresAt ?? Infinity) > clock.now());
      return valid.sort((a, b) => b.scopes.length - a.scopes.length || b.createdAt - a.createdAt)[0] ?? null;
    },
    refresh,
    /** For a key made beside this process a moment ago: reads all keys anew. */
    refreshForUnknown: spaced(refresh, clock),
    /** The keys used since the last call, each with its last use, to the minute. */
    takeUses: () => uses.take(),
  };
}

/**
 * Calls back at once, or, where that was done just before and perhaps too early for this caller, once more a little
 * later, for all who ask until then.
 */
function spaced(callback: () => Promise<void>, clock: Clock): () => Promise<void> {
  let lastAt = Number.NEGATIVE_INFINITY;
  let next: Promise<void> | null = null;
  const callNow = (): Promise<void> => {
    lastAt = clock.monotonic();
    next = null;
    return callback();
  };
  return () => {
    const waitMs = lastAt + UNKNOWN_REFRESH_INTERVAL_MS - clock.monotonic();
    if (waitMs <= 0) return callNow();
    next ??= delay(clock, waitMs).then(callNow);
    return next;
  };
}

function createUses() {
  const lastUses = new Map<ApiKeyId, number>();
  let uses = new Map<ApiKeyId, number>();
  return {
    record(key: ApiKey, now: number): void {
      const minute = now - (now % MINUTE_MS);
      if ((lastUses.get(key.id) ?? key.lastUsedAt ?? 0) >= minute) return;
      lastUses.set(key.id, minute);
      uses.set(key.id, minute);
    },
    take(): { id: ApiKeyId; lastUsedAt: number }[] {
      const taken = [...uses].map(([id, lastUsedAt]) => ({ id, lastUsedAt }));
      uses = new Map();
      return taken;
    },
  };
}

/** The token of an `Authorization: Bearer` header; the scheme's case does not matter (RFC 9110, section 11.1). */
export function bearerToken(authorization: string | undefined): string | null {
  const match = /^bearer +([^\s]+) *$/i.exec(authorization ?? '');
  return match?.[1] ?? null;
}

/** Whether two secrets are equal, in a time that tells nothing about either. */
export function isSameSecret(a: string, b: string): boolean {
  return digest(a) === digest(b);
}

function digest(secret: string): string {
  return hash('sha256', secret, 'base64');
}

function unauthorized(message: string): ApiError {
  return new ApiError('unauthorized', message);
}
