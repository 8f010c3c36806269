// NOTIFY and LISTEN on one connection of their own, outside of any transaction: inside, every commit that announces
// something would wait for one lock of the whole database. What is announced while the connection is away is lost.
//
// Whoever only listens cannot tell silence from a connection that is gone: a firewall that has forgotten it tells
// neither side. So it is asked now and then whether it still answers.
import { Socket } from 'node:net';
import { Client } from 'pg';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { createLoop } from '../../runtime/loop.ts';
import type { ClusterStore } from '../cluster-store.ts';
import { connectionConfig } from './wire/connections.ts';
import type { ConnectionOptions } from './wire/connections.ts';
import type { DatabaseAddress } from './wire/database-address.ts';

const CHANNEL = 'postrider';
const RECONNECT_DELAY_MS = 250;
const PROBE_INTERVAL_MS = 1_000;
/** A database that is busy may take a while; one that is slower than this says nothing in time anyway. */
const ANSWER_WITHIN_MS = 5_000;
const CLOSE_WITHIN_MS = 1_000;
/** An announcement is worth no fsync. */
const SETTINGS = ['synchronous_commit = off', "application_name = 'postrider-announcements'"];

export type Announcements = Pick<ClusterStore, 'announce' | 'listen'> & { close: () => Promise<void> };
type Listener = Parameters<ClusterStore['listen']>[0];
/** `drop`: at once, and another takes its place. */
type Connection = { client: Client; drop: (error?: Error) => void };

export function createAnnouncements(options: ConnectionOptions & { clock: Clock }): Announcements {
  const { settings, onError, clock } = options;
  let current: Connection | null = null;
  let connecting: Promise<void> | null = null;
  let timer: Timer | null = null;
  let isClosed = false;

  const connect = async (listener: Listener): Promise<void> => {
    const fresh = openConnection(options, listener.onAnnounced, (error) => {
      if (current === fresh) current = null;
      if (error !== undefined && !isClosed) onError(error);
      reconnectLater(listener);
    });
    try {
      await within(clock, ANSWER_WITHIN_MS, fresh, async ({ client }) => {
        await client.connect();
        for (const setting of [...settings, ...SETTINGS]) await client.query(`SET ${setting}`);
        await client.query(`LISTEN ${CHANNEL}`);
      });
      current = fresh;
      listener.onGap();
    } catch (error) {
      fresh.drop(error as Error);
    }
  };

  const reconnectLater = (listener: Listener): void => {
    if (isClosed || timer !== null) return;
    timer = clock.setTimer(() => {
      timer = null;
      if (!isClosed) connecting = connect(listener);
    }, RECONNECT_DELAY_MS);
  };

  const probe = createLoop({
    name: 'announcements',
    clock,
    intervalMs: PROBE_INTERVAL_MS,
    async step() {
      if (current !== null) await within(clock, ANSWER_WITHIN_MS, current, ({ client }) => client.query('SELECT 1'));
      return 'idle';
    },
    // The connection has said so itself.
    onError: () => {},
  });

  return {
    listen(listener) {
      connecting = connect(listener);
      probe.start();
    },
    async announce(text) {
      const used = current;
      try {
        await used?.client.query('SELECT pg_notify($1, $2)', [CHANNEL, text]);
      } catch (error) {
        // A connection that does not announce hears nothing either.
        used?.drop();
        throw error;
      }
    },
    async close() {
      isClosed = true;
      timer?.cancel();
      await connecting;
      if (current !== null) await within(clock, CLOSE_WITHIN_MS, current, ({ client }) => client.end());
      await probe.stop();
    },
  };
}

/** `onDropped`: called once, whoever ended it. */
function openConnection(
  address: DatabaseAddress,
  onAnnounced: Listener['onAnnounced'],
  onDropped: (error?: Error) => void,
): Connection {
  const socket = new Socket();
  const { url, ssl, sslnegotiation } = address;
  const client = new Client({ ...connectionConfig({ url, ssl, sslnegotiation }), stream: () => socket });
  let isDropped = false;
  const drop = (error?: Error): void => {
    if (isDropped) return;
    isDropped = true;
    client.removeAllListeners('notification');
    // Not a polite end, which waits for a peer that may have vanished.
    socket.destroy();
    onDropped(error);
  };
  // Either may come first, or both.
  client.on('error', drop);
  client.on('end', () => drop());
  client.on('notification', ({ payload = '' }) => onAnnounced(payload));
  return { client, drop };
}

/** Whatever is waited for fails when the connection is dropped, so this ends in time. */
async function within(
  clock: Clock,
  limitMs: number,
  connection: Connection,
  work: (connection: Connection) => Promise<unknown>,
): Promise<void> {
  const silence = new Error(`the connection for announcements has not answered for ${limitMs} ms: another is made`);
  const limit = clock.setTimer(() => connection.drop(silence), limitMs);
  try {
    await work(connection);
  } finally {
    limit.cancel();
  }
}
