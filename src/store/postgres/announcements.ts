// NOTIFY and LISTEN on one connection of their own, outside of any transaction: inside, every commit that announces
// something would wait for one lock of the whole database. What is announced while the connection is away is lost.
import { Client } from 'pg';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { ClusterStore } from '../store.ts';
import { connectionConfig } from './connections.ts';
import type { ConnectionOptions } from './connections.ts';

const CHANNEL = 'postrider';
const RECONNECT_DELAY_MS = 250;
/** An announcement is worth no fsync. */
const SETTINGS = ['synchronous_commit = off', "application_name = 'postrider-announcements'"];

export type Announcements = Pick<ClusterStore, 'announce' | 'listen'> & { close: () => Promise<void> };
type Listener = Parameters<ClusterStore['listen']>[0];

export function createAnnouncements(options: ConnectionOptions & { clock: Clock }): Announcements {
  const { settings, onError, clock, ...address } = options;
  let client: Client | null = null;
  let connecting: Promise<void> | null = null;
  let timer: Timer | null = null;
  let isClosed = false;

  const connect = async (listener: Listener): Promise<void> => {
    const fresh = new Client(connectionConfig(address));
    const drop = (error?: Error): void => {
      if (client === fresh) client = null;
      fresh.removeAllListeners('notification');
      if (error !== undefined && !isClosed) onError(error);
      reconnectLater(listener);
    };
    // Either may come first, or both.
    fresh.on('error', drop);
    fresh.on('end', () => drop());
    fresh.on('notification', ({ payload = '' }) => listener.onAnnounced(payload));
    try {
      await fresh.connect();
      for (const setting of [...settings, ...SETTINGS]) await fresh.query(`SET ${setting}`);
      await fresh.query(`LISTEN ${CHANNEL}`);
      client = fresh;
      listener.onGap();
    } catch (error) {
      drop(error as Error);
      await fresh.end().catch(() => {});
    }
  };

  const reconnectLater = (listener: Listener): void => {
    if (isClosed || timer !== null) return;
    timer = clock.setTimer(() => {
      timer = null;
      if (!isClosed) connecting = connect(listener);
    }, RECONNECT_DELAY_MS);
  };

  return {
    listen(listener) {
      connecting = connect(listener);
    },
    async announce(text) {
      const used = client;
      try {
        await used?.query('SELECT pg_notify($1, $2)', [CHANNEL, text]);
      } catch (error) {
        // A connection that does not announce hears nothing either: its end makes a new one.
        void used?.end().catch(() => {});
        throw error;
      }
    },
    async close() {
      isClosed = true;
      timer?.cancel();
      await connecting;
      await client?.end();
    },
  };
}
