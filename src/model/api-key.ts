// API keys: `pr_live_` or `pr_test_`, 30 random base62 characters, and a checksum that refuses typing
// errors (and most scanners' guesses) without a look-up.
import { crc32 } from 'node:zlib';
import type { ApiKeyId } from './id.ts';

export type Mode = 'live' | 'test';

export const SCOPES = ['publish', 'read', 'manage', 'operate', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];
export const DEFAULT_SCOPES: readonly Scope[] = ['publish', 'read', 'manage', 'operate'];

export type ApiKey = {
  id: ApiKeyId;
  environment: number;
  mode: Mode;
  name: string | null;
  scopes: Scope[];
  prefix: string;
  last4: string;
  /** SHA-256 of the whole key. */
  hash: Uint8Array;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
};

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
/** Behind `pr_test_` or `pr_live_`. */
export const KEY_LENGTH = RANDOM_LENGTH + CHECKSUM_LENGTH;
const KEY_FORM = /^pr_(live|test)_[0-9A-Za-z]{36}$/;

/** Writes a key from uniformly random digits (each 0-61), 30 of them. */
export function formatApiKey(mode: Mode, randomDigits: readonly number[]): string {
  if (randomDigits.length !== RANDOM_LENGTH) throw new Error(`an API key takes ${RANDOM_LENGTH} digits`);
  const head = `pr_${mode}_${randomDigits.map((digit) => BASE62[digit]).join('')}`;
  return head + checksum(head);
}

/** Whether a text has a key's form and its checksum holds: worth a look-up. */
export function isApiKey(text: string): boolean {
  if (!KEY_FORM.test(text)) return false;
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

function checksum(head: string): string {
  let rest = crc32(head);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
