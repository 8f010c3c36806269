// What an endpoint of Svix is as a destination with its subscriptions, and what of it has no counterpart. Pure.
import { findHeaderNameFault, findHeaderValueFault } from '../../model/destination-headers.ts';
import { HEADER_BYTES_MAX, HEADERS_MAX, METADATA_BYTES_MAX, NAME_LENGTH_MAX } from '../../model/destination.ts';
import { isEventType } from '../../model/event-type.ts';
import type { Destination } from '../../../sdk/typescript/src/postrider.ts';
import type { DestinationFields, SubscriptionFields } from './postrider-api.ts';
import type { SvixApplication, SvixDetails, SvixEndpoint } from './svix-api.ts';

const RATE_MAX = 10_000;
const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

/** Something that was not carried over, or not as it was. `what`: from the closed list of the guide. */
export type Note = { what: string; detail: string };

export type Translation = {
  fields: DestinationFields;
  /** Null: it cannot be brought along. */
  secret: string | null;
  subscriptions: SubscriptionFields[];
  notes: Note[];
};

/** How a destination knows which endpoint it came from. */
export type Origin = { endpointId: string; updatedAt: string | null; isDisabled: boolean };

/** Null: it did not come from Svix. */
export function originOf({ metadata }: Destination): Origin | null {
  const origin = metadata['svix'];
  if (typeof origin !== 'object' || origin === null || !('endpoint_id' in origin)) return null;
  const { endpoint_id: endpointId, updated_at: updatedAt, disabled } = origin as Record<string, unknown>;
  if (typeof endpointId !== 'string') return null;
  return { endpointId, updatedAt: typeof updatedAt === 'string' ? updatedAt : null, isDisabled: disabled === true };
}

/** `appPath`: where an event's body says whose it is; null: it says it nowhere. */
export function translate(
  application: SvixApplication,
  endpoint: SvixEndpoint,
  details: SvixDetails,
  appPath: string | null,
): Translation {
  const notes: Note[] = [];
  const note = (what: string, detail: string): void => void notes.push({ what, detail });
  const secret = toSecret(details.secret);
  if (secret === null) note('secret', 'is no symmetric key of 24 to 64 bytes');
  const fields: DestinationFields = {
    url: endpoint.url,
    name: toName(endpoint, note),
    rate_per_second: toRate(endpoint, note),
    headers: toHeaders(details, note),
    metadata: toMetadata(application, endpoint, note),
    signature_style: 'svix',
  };
  const subscriptions = toSubscriptions(application, endpoint, { appPath, note });
  if (endpoint.channels.length > 0) note('channels', `would get more than ${quote(endpoint.channels)}`);
  if (details.hasTransformation) note('transformation', 'bodies would arrive as they are published');
  if (details.hasOauth) note('oauth', 'requests would come without its tokens');
  if (details.hasMtls) note('mtls', 'requests would come without its client certificate');
  return { fields, secret, subscriptions, notes };
}

type TakeNote = (what: string, detail: string) => void;

/** As Postrider writes it. Svix takes and gives secrets with or without the prefix, and without padding too. */
function toSecret(text: string): string | null {
  const body = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : text;
  const bytes = Buffer.from(body, 'base64');
  const written = bytes.toString('base64');
  const isWhole = written.replaceAll('=', '') === body.replaceAll('=', '');
  return isWhole && bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX
    ? SECRET_PREFIX + written
    : null;
}

function toName({ description, uid }: SvixEndpoint, note: TakeNote): string | null {
  const whole = (description === '' ? (uid ?? '') : description).replaceAll('\u0000', '');
  const characters = Array.from(whole);
  if (characters.length <= NAME_LENGTH_MAX) return whole === '' ? null : whole;
  note('name', `the description is cut to ${NAME_LENGTH_MAX} characters`);
  return characters.slice(0, NAME_LENGTH_MAX).join('');
}

function toRate({ throttleRate }: SvixEndpoint, note: TakeNote): number | null {
  if (throttleRate === null || throttleRate <= RATE_MAX) return throttleRate;
  note('throttle_rate', `${throttleRate} a second is more than ${RATE_MAX}, which is set instead`);
  return RATE_MAX;
}

function toHeaders({ headers, sensitiveHeaders }: SvixDetails, note: TakeNote): Record<string, string> {
  const kept: Record<string, string> = {};
  const refused: string[] = [];
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (sensitiveHeaders.includes(name)) continue;
    bytes += name.length + value.length;
    const isAllowed = findHeaderNameFault(name) === null && findHeaderValueFault(value) === null;
    const hasRoom = Object.keys(kept).length < HEADERS_MAX && bytes <= HEADER_BYTES_MAX;
    if (isAllowed && hasRoom) kept[name] = value;
    else refused.push(name);
  }
  if (refused.length > 0) note('headers', `not allowed: ${quote(refused)}`);
  if (sensitiveHeaders.length > 0) note('sensitive_headers', `Svix keeps the values of ${quote(sensitiveHeaders)}`);
  return kept;
}

function toMetadata(application: SvixApplication, endpoint: SvixEndpoint, note: TakeNote): Record<string, unknown> {
  const svix = {
    endpoint_id: endpoint.id,
    endpoint_uid: endpoint.uid,
    app_id: application.id,
    app_uid: application.uid,
    app_name: application.name,
    updated_at: endpoint.updatedAt,
    disabled: endpoint.isDisabled,
  };
  const whole = { ...endpoint.metadata, svix };
  if (Buffer.byteLength(JSON.stringify(whole)) <= METADATA_BYTES_MAX) return whole;
  note('metadata', `is longer than ${METADATA_BYTES_MAX} bytes and left out`);
  return { svix: { ...svix, app_name: svix.app_name.slice(0, NAME_LENGTH_MAX) } };
}

function toSubscriptions(
  { id, uid }: SvixApplication,
  { eventTypes }: SvixEndpoint,
  { appPath, note }: { appPath: string | null; note: TakeNote },
): SubscriptionFields[] {
  const filter = appPath === null ? null : { [appPath]: uid ?? id };
  const refused = (eventTypes ?? []).filter((type) => !isEventType(type));
  if (refused.length > 0) note('event_types', `not of the form order.paid: ${quote(refused)}`);
  const types = eventTypes === null ? ['**'] : [...new Set(eventTypes)].filter(isEventType);
  return types.map((type) => ({ event_type: type, filter }));
}

const QUOTED_MAX = 10;

export function quote(names: readonly string[]): string {
  const rest = names.length > QUOTED_MAX ? ` and ${names.length - QUOTED_MAX} more` : '';
  return names.slice(0, QUOTED_MAX).join(', ') + rest;
}
