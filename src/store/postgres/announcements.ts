// NOTIFY and LISTEN on one connection of their own, outside of any transaction: inside, every commit that announces
// something would wait for one lock of the whole database. What is announced while the connection is away is lost.
//
// Locks that are to last for a while are held by the same connection: no transaction stays open for them, and a node
// that dies leaves none behind.
//
// Whoever only listens cannot tell silence from a connection that is gone: a firewall that has forgotten it tells
// neither side. So it is asked now and then whether it still answers.
import { Socket } from 'node:net';
import { Client } from 'pg';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { idBytes } from '../../model/id.ts';
import { createLoop, type Loop } from '../../runtime/loop.ts';
import type { ClusterStore } from '../cluster-store.ts';
import { StoreError } from '../store.ts';
import { applySettings, connectionConfig, type ConnectionOptions } from './wire/connections.ts';
import type { DatabaseAddress } from './wire/database-address.ts';

const CHANNEL = 'postrider';
const RECONNECT_DELAY_MS = 250;
const PROBE_INTERVAL_MS = 1_000;
/** A database that is busy may take a while; one that is slower than this says nothing in time anyway. */
const ANSWER_WITHIN_MS = 5_000;
const CLOSE_WITHIN_MS = 1_000;
/** An announcement is worth no fsync. */
const SETTINGS = ['synchronous_commit = off', "application_name = 'postrider-announcements'"];

/** 'test' as a number: of these locks, beside whose it is. */
const TEST_LOCK = 0x74_65_73_74;

export type Announcements = Pick<ClusterStore, 'announce' | 'listen' | 'reserveTest'> & { close: () => Promise<void> };
type Listener = Parameters<ClusterStore['listen']>[0];
/** `drop`: at once, and another takes its place. */
type Connection = { client: Client; drop: () => void };

export function createAnnouncements(options: ConnectionOptions & { clock: Clock }): Announcements {
  const { settings, clock } = options;
  let current: Connection | null = null;
  let connecting: Promise<void> | null = null;
  let timer: Timer | null = null;
  let isClosed = false;

  const connect = async (listener: Listener): Promise<void> => {
    const fresh = openConnection(options, listener.onAnnounced, () => {
      if (current === fresh) current = null;
      reconnectLater(listener);
    });
    try {
      await within(clock, ANSWER_WITHIN_MS, fresh, async ({ client }) => {
        await client.connect();
        await applySettings(client, [...settings, ...SETTINGS]);
        await client.query(`LISTEN ${CHANNEL}`);
      });
      current = fresh;
      listener.onGap();
    } catch {
      fresh.drop();
    }
  };

  const reconnectLater = (listener: Listener): void => {
    if (isClosed || timer !== null) return;
    timer = clock.setTimer(() => {
      timer = null;
      if (!isClosed) connecting = connect(listener);
    }, RECONNECT_DELAY_MS);
  };

  const probe = createProbe(clock, () => current);

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
    async reserveTest({ destinationId, forMs }) {
      if (current === null) throw new StoreError('unavailable', 'the connection for announcements is being made anew');
      // Random bits of the id: two that share them would only wait for each other.
      const lock = [TEST_LOCK, Buffer.from(idBytes(destinationId)).readInt32BE(12)];
      return tryLock(current.client, lock, clock, forMs);
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

function createProbe(clock: Clock, connectionOf: () => Connection | null): Loop {
  return createLoop({
    name: 'announcements',
    clock,
    intervalMs: PROBE_INTERVAL_MS,
    async step() {
      const current = connectionOf();
      if (current !== null) await within(clock, ANSWER_WITHIN_MS, current, ({ client }) => client.query('SELECT 1'));
      return 'idle';
    },
    // The connection has said so itself.
    onError: () => {},
  });
}

/** Where the connection is gone before the time is over, so is the lock. */
async function tryLock(client: Client, lock: readonly number[], clock: Clock, forMs: number): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS taken', [...lock]);
  const { taken } = rows[0]!;
  const free = (): void => void client.query('SELECT pg_advisory_unlock($1, $2)', [...lock]).catch(() => {});
  if (taken) clock.setTimer(free, forMs);
  return taken;
}

/** `onDropped`: called once, whoever ended it. */
function openConnection(
  address: DatabaseAddress,
  onAnnounced: Listener['onAnnounced'],
  onDropped: () => void,
): Connection {
  const socket = new Socket();
  const { url, ssl, sslnegotiation } = address;
  const client = new Client({ ...connectionConfig({ url, ssl, sslnegotiation }), stream: () => socket });
  let isDropped = false;
  const drop = (): void => {
    if (isDropped) return;
    isDropped = true;
    client.removeAllListeners('notification');
    // Not a polite end, which waits for a peer that may have vanished.
    socket.destroy();
    onDropped();
  };
  // Either may come first, or both.
  client.on('error', drop);
  client.on('end', drop);
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
  const limit = clock.setTimer(connection.drop, limitMs);
  try {
    await work(connection);
  } finally {
    limit.cancel();
  }
}
