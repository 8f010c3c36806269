// The cookie of a session: a ticket, sealed for its mode, that names an API key and when the session began.
import type { IncomingHttpHeaders } from 'node:http';
import type { Mode } from '../../model/api-key.ts';
import { formatId, idBytes, type ApiKeyId } from '../../model/id.ts';
import type { Sealer } from '../../runtime/sealer.ts';
import { isSecureOrigin } from './origin.ts';

/** `number`: 16 random bytes, as latin1. */
export type Ticket = { number: string; keyId: ApiKeyId; beganAt: number };

const NUMBER_BYTES = 16;
const ID_BYTES = 16;
const TIME_BYTES = 6;
const TICKET_BYTES = NUMBER_BYTES + ID_BYTES + TIME_BYTES;

/** The `Set-Cookie` for a session that the browser is to keep for `maxAgeMs`. */
export function writeTicket(
  mode: Mode,
  ticket: Ticket,
  options: { sealer: Sealer; headers: IncomingHttpHeaders; maxAgeMs: number },
): string {
  const { sealer, headers, maxAgeMs } = options;
  const bytes = Buffer.alloc(TICKET_BYTES);
  bytes.write(ticket.number, 'latin1');
  bytes.set(idBytes(ticket.keyId), NUMBER_BYTES);
  bytes.writeUIntBE(ticket.beganAt, NUMBER_BYTES + ID_BYTES, TIME_BYTES);
  const value = Buffer.from(sealer.seal(bytes, contextOf(mode))).toString('base64url');
  return describeCookie(mode, { value, headers, maxAgeMs });
}

/** The `Set-Cookie` that makes the browser forget it. */
export function forgetTicket(mode: Mode, headers: IncomingHttpHeaders): string {
  return describeCookie(mode, { value: '', headers, maxAgeMs: 0 });
}

/** Null: there is none, or it was not made here. */
export function readTicket(mode: Mode, headers: IncomingHttpHeaders, sealer: Sealer): Ticket | null {
  const cookies = readCookies(headers.cookie);
  const sealed = cookies.get(cookieName(mode, true)) ?? cookies.get(cookieName(mode, false));
  const bytes = sealed === undefined ? null : sealer.open(Buffer.from(sealed, 'base64url'), contextOf(mode));
  if (bytes === null) return null;
  const buffer = Buffer.from(bytes);
  return {
    number: buffer.toString('latin1', 0, NUMBER_BYTES),
    keyId: formatId('key', buffer.subarray(NUMBER_BYTES, NUMBER_BYTES + ID_BYTES)),
    beganAt: buffer.readUIntBE(NUMBER_BYTES + ID_BYTES, TIME_BYTES),
  };
}

/** Sealed for one mode, a cookie opens nothing in the place of the other. */
function contextOf(mode: Mode): string {
  return `session ${mode}`;
}

/** With the prefix browsers let no neighbour under the same domain put a cookie there; they take it over HTTPS only. */
function cookieName(mode: Mode, isSecure: boolean): string {
  return `${isSecure ? '__Host-' : ''}postrider_${mode}`;
}

function describeCookie(
  mode: Mode,
  { value, headers, maxAgeMs }: { value: string; headers: IncomingHttpHeaders; maxAgeMs: number },
): string {
  const isSecure = isSecureOrigin(headers.origin);
  const attributes = `Path=/; Max-Age=${Math.floor(maxAgeMs / 1000)}; HttpOnly; SameSite=Strict`;
  return `${cookieName(mode, isSecure)}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`;
}

/** RFC 6265, section 5.4. Of two of one name neither is believed: the browser cannot say which of them we made. */
function readCookies(header: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>();
  const doubled = new Set<string>();
  for (const pair of (header ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at === -1) continue;
    const name = pair.slice(0, at).trim();
    if (cookies.has(name)) doubled.add(name);
    cookies.set(name, pair.slice(at + 1).trim());
  }
  for (const name of doubled) cookies.delete(name);
  return cookies;
}
