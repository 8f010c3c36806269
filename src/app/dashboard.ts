// What the API needs to serve the dashboard and to let people sign in to it.
import { hkdfSync } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Authenticator } from '../api/auth.ts';
import { createBuildReader } from '../api/dashboard/build.ts';
import type { Dashboard } from '../api/services.ts';
import { createAttemptLimit } from '../api/session/attempt-limit.ts';
import { createSessions } from '../api/session/sessions.ts';
import { createSignInLinks } from '../api/session/sign-in-links.ts';
import { createSealer, MASTER_KEY_BYTES } from '../runtime/sealer.ts';
import type { Base } from './base.ts';

const BUILD_FOLDER = fileURLToPath(new URL('../../dashboard/dist', import.meta.url));

export function createDashboard({ settings, masterKey, clock, random }: Base, authenticator: Authenticator): Dashboard {
  const hosts = settings.DASHBOARD_HOSTS;
  // Of its own, so that no cookie is ever sealed under the key of what is stored.
  const key = new Uint8Array(hkdfSync('sha256', masterKey, '', 'postrider sessions', MASTER_KEY_BYTES));
  const sealer = createSealer(key, random);
  return {
    build: createBuildReader({ folder: BUILD_FOLDER, clock }),
    sessions: createSessions({ authenticator, sealer, clock, random, hosts }),
    links: createSignInLinks({ clock, random }),
    attempts: createAttemptLimit(clock),
    hosts,
  };
}
