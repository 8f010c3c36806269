// Every statement the SQLite store runs, held against SQLite's own plan for it: nothing walks a table that grows with
// the traffic, and no list is sorted. Then a page costs the same at a thousand rows and at ten million.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DELIVERY_STATUSES } from '../../src/model/delivery.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import type { Database } from '../../src/store/sqlite/file/database.ts';
import { openInMemory, storeOn } from '../support/in-thread-store.ts';

const GROWING = ['deliveries', 'events', 'event_bodies', 'attempts', 'idempotency', 'subscriptions'];

/** What a table is called in a statement's plan: its alias there, or its name. */
function growingNames(sql: string): string[] {
  const tables = sql.matchAll(/\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?!WHERE|ORDER|SET|JOIN|ON|LEFT)(\w+))?/g);
  return [...tables].filter(([, table]) => GROWING.includes(table!)).map(([, table, alias]) => alias ?? table!);
}

describe('the plan of every statement', () => {
  let db: Database;
  const statements = new Set<string>();

  before(() => {
    const masterKey = new Uint8Array(32);
    const options = { masterKey, clock: systemClock, random: systemRandom };
    db = openInMemory(':memory:', options);
    const prepare = db.prepare.bind(db);
    db.prepare = (sql, how) => {
      statements.add(sql);
      return prepare(sql, how);
    };
    storeOn(db, { ...options, diskReserveBytes: 0, maxBacklogPerDestination: 1 });
    db.prepare = prepare;
  });
  after(() => db.close());

  const planOf = (sql: string): string[] => {
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
    return rows.map((row) => row.detail);
  };
  /** `^`: where it begins. */
  const find = (part: string): string => {
    const found = [...statements].filter((sql) => `^${sql.trim()}`.includes(part));
    assert.equal(found.length, 1, `one statement has: ${part}`);
    return found[0]!;
  };

  it('walks no table that grows, and sorts nothing', () => {
    assert.ok(statements.size > 80);
    for (const sql of statements) {
      if (!/^\s*(SELECT|UPDATE|DELETE|INSERT)/.test(sql)) continue;
      const growing = growingNames(sql);
      for (const detail of planOf(sql)) {
        const [, table] = /^SCAN (\w+)/.exec(detail) ?? [];
        assert.ok(table === undefined || !growing.includes(table), `${detail}: ${sql}`);
        assert.ok(!detail.startsWith('USE TEMP B-TREE'), `${detail}: ${sql}`);
      }
    }
  });

  it('bounds lists of deliveries by id inside their index, for every status', () => {
    for (const column of ['environment', 'destination'] as const) {
      for (const [status] of DELIVERY_STATUSES.entries()) {
        const index = `SEARCH deliveries USING COVERING INDEX deliveries_by_${column}`;
        const one = `WHERE ${column} = ?1 AND status = ${status} AND id >= ?2 AND id < ?3 ORDER BY id DESC`;
        const plan = planOf(find(`^SELECT id FROM deliveries ${one}`));
        assert.deepEqual(plan, [`${index} (status=? AND ${column}=? AND id>? AND id<?)`]);
      }
    }
    const ofEvent = planOf(find('WHERE event_id = ?1 AND id >= ?2'));
    assert.deepEqual(ofEvent, [
      'SEARCH deliveries USING COVERING INDEX deliveries_by_event (event_id=? AND id>? AND id<?)',
    ]);
  });

  it('finds work by the index of what is unfinished', () => {
    const next = planOf(find('ORDER BY destination, due_at LIMIT 1'));
    assert.deepEqual(next, ['SEARCH deliveries USING INDEX deliveries_by_due (destination>?)']);
    const inOrder = planOf(find('ORDER BY d.due_at, d.id'));
    assert.deepEqual(inOrder, ['SEARCH d USING INDEX deliveries_by_due (destination=? AND due_at>? AND due_at<?)']);
    const ended = planOf(find('FROM deliveries WHERE status <= 1 AND destination = ? LIMIT'));
    assert.ok(ended.includes('SEARCH deliveries USING INDEX deliveries_by_due (destination=?)'));
  });
});
