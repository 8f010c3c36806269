// A registered URL and everything an attempt to it needs.
import type { DestinationId, SigningKeyId } from './id.ts';
import type { RetryPolicy } from './retry-policy.ts';

export const DESTINATION_STATUSES = ['active', 'paused'] as const;
export type DestinationStatus = (typeof DESTINATION_STATUSES)[number];
export const PAUSED_REASONS = ['manual', 'failing', 'gone'] as const;
export type PausedReason = (typeof PAUSED_REASONS)[number];
/** `svix`: what Svix calls the headers of a signature is sent too, for receivers that ask for those names. */
export const SIGNATURE_STYLES = ['standard', 'svix'] as const;
export type SignatureStyle = (typeof SIGNATURE_STYLES)[number];
export const SIGNATURE_STYLE_DEFAULT: SignatureStyle = 'standard';
export const AUTOMATIC_PAUSE_REASONS = ['failing', 'gone'] as const satisfies PausedReason[];

export const URL_LENGTH_MAX = 2_048;
export const NAME_LENGTH_MAX = 256;
export const METADATA_BYTES_MAX = 8_192;
export const HEADERS_MAX = 20;
export const HEADER_BYTES_MAX = 8_192;
export const MAX_IN_FLIGHT_DEFAULT = 50;

/** Signs attempts until `expiresAt` (Unix ms); the newest key has null. */
export type SigningKey = {
  id: SigningKeyId;
  secret: Uint8Array;
  createdAt: number;
  expiresAt: number | null;
};

export type Destination = {
  id: DestinationId;
  environment: number;
  url: string;
  name: string | null;
  status: DestinationStatus;
  pausedReason: PausedReason | null;
  retryPolicy: RetryPolicy | null;
  maxInFlight: number;
  ratePerSecond: number | null;
  /** Static headers of every attempt, names as given; values are secrets at rest. */
  headers: Record<string, string>;
  signatureStyle: SignatureStyle;
  /** A JSON object's text, minified. */
  metadata: string;
  createdAt: number;
  updatedAt: number;
};

/** With its signing keys, newest first: what delivering needs and reading must not show. */
export type DestinationWithKeys = Destination & { signingKeys: SigningKey[] };

/**
 * What is on its way to a destination that this process sends to. `overdueSince`: when the oldest was due that may go
 * out and has not; Unix ms, null: there is none.
 */
export type DestinationLoad = {
  destination: DestinationWithKeys;
  inFlight: number;
  inFlightLimit: number;
  overdueSince: number | null;
};

/** The secrets that sign at a moment, the newest first. */
export function keysInForce({ signingKeys }: DestinationWithKeys, now: number): Uint8Array[] {
  return signingKeys.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ secret }) => secret);
}

/** What a PATCH may change; absent members stay. */
export type DestinationChange = Partial<
  Pick<
    Destination,
    | 'url'
    | 'name'
    | 'status'
    | 'retryPolicy'
    | 'maxInFlight'
    | 'ratePerSecond'
    | 'headers'
    | 'signatureStyle'
    | 'metadata'
  >
>;

/** Failed attempts of a destination in a row, whichever deliveries they were of. */
export type FailureStreak = {
  /** The first since the last success, Unix ms; null: none. */
  failingSince: number | null;
  failureCount: number;
};

/** Trouble that outlives a restart: since when nothing has succeeded, and how long the receiver asked us to wait. */
export type DestinationHealth = FailureStreak & {
  destinationId: DestinationId;
  /** From a 429 with Retry-After: nothing but forced attempts before this. */
  heldUntil: number | null;
};

/** What nodes tell each other of a change that was committed. `destinationId`: null for anything but a destination. */
export type ConfigurationChange = { environment: number; destinationId: DestinationId | null };
