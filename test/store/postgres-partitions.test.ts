// Partitions: there before they are needed, gone as a whole when all in them is past, and never in anybody's way.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client } from 'pg';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { atEnd } from './data-dirs.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { DAY, LIVE, START, Scene, result, succeed } from './scene.ts';

const databases = sharedDatabases();

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** Of a table, those that are attached. */
async function partitionsOf(url: string, table: string): Promise<string[]> {
  const sql = `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = '${table}'::regclass`;
  return (await databases.server.query(sql, nameOf(url))).map((row) => String(row['name'])).sort();
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10).replaceAll('-', '');

describe('partitions', () => {
  it('are made two weeks ahead, at the start and with every pruning', async (t) => {
    const url = await databases.makeEmpty(t);
    let now = systemClock.now();
    const clock = { ...systemClock, now: () => now };
    const store = await openPostgresStore(storeOptions(url, { clock }));
    atEnd(t, () => store.close());
    const lastDay = async () => (await partitionsOf(url, 'event_bodies')).at(-1);
    assert.equal(await lastDay(), `event_bodies_${dayOf(now + 14 * DAY)}`);
    now += 3 * DAY;
    await store.pruneRows({ cutoff: 0, now, budgetMs: 0 });
    assert.equal(await lastDay(), `event_bodies_${dayOf(now + 14 * DAY)}`);
  });

  it('are made on the spot for an id of any other time', async (t) => {
    const url = await databases.make(t);
    const scene = new Scene(await openPostgresStore(storeOptions(url)));
    atEnd(t, () => scene.store.close());
    const destination = await scene.createDestination();
    scene.now = Date.UTC(2031, 5, 5);
    const { id } = await scene.acceptOne(destination);
    await scene.record(result(id, 0, succeed()));
    assert.equal((await scene.read(id))!.attempts.length, 1);
    assert.ok((await partitionsOf(url, 'event_bodies')).includes('event_bodies_20310605'));
  });

  it('go when all in them is past; until then what is past is hidden', async (t) => {
    const url = await databases.make(t);
    const scene = new Scene(await openPostgresStore(storeOptions(url)));
    atEnd(t, () => scene.store.close());
    const destination = await scene.createDestination();
    const old = await scene.accept([destination, destination]);
    await scene.record(result(old.deliveries[0]!.id, 0, succeed()));
    const later = await scene.accept([destination], { id: (scene.pass(1_000), scene.ids.next('evt')) });
    // Far more than any retention that goes row by row.
    const now = START + 100 * DAY;
    const cutoff = START + 500;
    while ((await scene.store.eraseBodies({ cutoff, now, budgetMs: 0 })).more);
    while ((await scene.store.pruneRows({ cutoff, now, budgetMs: 0 })).more);
    assert.equal(await scene.store.readEvent({ environment: LIVE, id: old.id }), null);
    assert.equal(await scene.read(old.deliveries[0]!.id), null);
    assert.deepEqual(
      (await scene.list()).rows.map((row) => row.id),
      [later.deliveries[0]!.id],
    );
    assert.ok((await partitionsOf(url, 'event_bodies')).includes('event_bodies_20260101'), 'half of it is young');
    assert.notEqual((await scene.store.readEvent({ environment: LIVE, id: later.id }))!.body, null);

    const all = { cutoff: START + 20 * DAY, now, budgetMs: 0 };
    while ((await scene.store.eraseBodies(all)).more);
    assert.equal((await scene.read(later.deliveries[0]!.id))!.deadReason, 'expired');
    assert.deepEqual(
      (await partitionsOf(url, 'event_bodies')).filter((name) => name.includes('_2026010')),
      [],
    );
    while ((await scene.store.pruneRows(all)).more);
    for (const table of ['events', 'done_deliveries', 'attempts']) {
      assert.deepEqual(
        (await partitionsOf(url, table)).filter((name) => name < `${table}_20260115`),
        [],
        table,
      );
    }
    // What was dropped is made again if somebody comes with such an id all the same.
    await scene.accept([destination]);
  });

  it('that somebody is reading are left for later, and nobody waits meanwhile', async (t) => {
    const url = await databases.make(t);
    const scene = new Scene(await openPostgresStore(storeOptions(url)));
    atEnd(t, () => scene.store.close());
    const destination = await scene.createDestination();
    await scene.acceptOne(destination);
    const reader = new Client({ connectionString: url });
    await reader.connect();
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM event_bodies');
    const request = { cutoff: START + 3 * DAY, now: START + 100 * DAY, budgetMs: 0 };
    const erasing = (async () => {
      while ((await scene.store.eraseBodies(request)).more);
    })();
    scene.pass(10 * DAY);
    for (let i = 0; i < 20; i++) await scene.acceptOne(destination);
    await erasing;
    await reader.query('COMMIT');
    await reader.end();
    while ((await scene.store.eraseBodies(request)).more);
    const left = await databases.server.query(`SELECT to_regclass('event_bodies_20260101') AS name`, nameOf(url));
    assert.equal(left[0]!['name'], null, 'what was begun is finished');
  });
});
