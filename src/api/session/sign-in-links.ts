// Links that sign in once: for who has just started the service on this machine. Of a link only the digest is kept, in
// this process, for ten minutes.
import { hash } from 'node:crypto';
import type { ApiKeyId } from '../../model/id.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';

export type SignInLinks = ReturnType<typeof createSignInLinks>;

const LIFETIME_MS = 10 * 60_000;
const TOKEN_BYTES = 32;
const LINKS_MAX = 16;

export function createSignInLinks({ clock, random }: { clock: Pick<Clock, 'monotonic'>; random: Random }) {
  const links = new Map<string, { keyId: ApiKeyId; until: number }>();
  return {
    /** The path of a new link. */
    make(keyId: ApiKeyId): string {
      const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url');
      if (links.size >= LINKS_MAX) links.delete(links.keys().next().value!);
      links.set(digest(token), { keyId, until: clock.monotonic() + LIFETIME_MS });
      return `/sign-in/${token}`;
    },
    /** The key that a link signs in with; null: it was used, is over, or never was. */
    use(token: string): ApiKeyId | null {
      const name = digest(token);
      const link = links.get(name);
      links.delete(name);
      return link === undefined || link.until <= clock.monotonic() ? null : link.keyId;
    },
  };
}

function digest(token: string): string {
  return hash('sha256', token, 'base64');
}
