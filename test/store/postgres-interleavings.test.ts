// The races of real PostgreSQL, one by one: two writers meet over one delivery, its event or its destination, and one
// statement at a time goes out, of the one or of the other. Every state that a commit leaves is legal, each step from
// one to the next is one of the state machine's, and what either writer was answered agrees with what there was.
//
// By default every two that touch the same things meet in schedules drawn by chance; two of a kind, and every second
// two of the others, in all schedules with at most one preemption (schedules.ts) from one of the states their delivery
// may be in. Everything with everything from every state, with at most two preemptions, or with other chances:
//
//   INTERLEAVINGS=all                                      npm test -- test/store/postgres-interleavings.test.ts
//   INTERLEAVINGS_PREEMPTIONS=2                            (the same)
//   INTERLEAVINGS_SEED=1000 INTERLEAVINGS_COUNT=50         (the same)
import { after, before, describe, it, type TestContext } from 'node:test';
import { CITUS_URL } from './postgres/citus.ts';
import { Databases } from './postgres/databases.ts';
import { startPostgres, type PostgresServer } from './postgres/server.ts';
import { ACTIONS, areRelated, type ActionName } from './interleaving/actions.ts';
import { Arena } from './interleaving/encounter.ts';
import { exploreAll, exploreByChance } from './interleaving/schedules.ts';
import { STARTS, isFinished, type Start } from './interleaving/subject.ts';
import type { Choose } from './interleaving/two-writers.ts';

const IS_EVERYTHING = process.env['INTERLEAVINGS'] === 'all';
const PREEMPTIONS_MAX = Number(process.env['INTERLEAVINGS_PREEMPTIONS'] ?? 1);
const SEED = Number(process.env['INTERLEAVINGS_SEED'] ?? 1);
const COUNT = Number(process.env['INTERLEAVINGS_COUNT'] ?? 2);

const NAMES = Object.keys(ACTIONS) as ActionName[];

/** Where something was wrong once, or would be wrong unseen. */
const KNOWN: readonly (readonly [what: string, ActionName, ActionName, Start])[] = [
  ['a result that comes late, and its delivery is sent again: it is there', 'a success', 'a manual retry', 'succeeded'],
  ['health of a destination that is deleted goes with it', 'a failure', 'a deletion', 'retrying'],
  ['what a deletion has ended does not expire', 'a deletion', 'expiry', 'pending'],
  ['a late attempt goes with its delivery', 'a cancelled attempt', 'pruning', 'dead'],
  [
    'an attempt that was cut off is told wherever its delivery is',
    'a cancelled attempt',
    'a manual retry',
    'succeeded',
  ],
  ['attempts stay while their delivery does', 'a manual retry', 'pruning', 'dead'],
];

// On Citus the tests share one database, and with it who is seen to wait.
const CONCURRENCY = CITUS_URL === undefined ? 3 : 1;

describe('two writers, one statement at a time', { concurrency: CONCURRENCY }, () => {
  let server: PostgresServer;
  let databases: Databases;
  before(async () => {
    // Deadlocks are the server's to end, and soon; nothing of its own takes locks.
    server = await startPostgres(['fsync=off', 'synchronous_commit=off', 'autovacuum=off', 'deadlock_timeout=5ms']);
    databases = new Databases(() => server);
  });
  after(() => server.stop());

  const open = async (t: TestContext): Promise<Arena> => Arena.open(t, await databases.make(t));

  for (const [what, first, second, start] of KNOWN) {
    it(what, async (t) => {
      t.diagnostic(`${await meetAll(await open(t), { first, second, start })} schedules`);
    });
  }

  NAMES.forEach((first, at) => {
    const others = NAMES.slice(at).filter((second) => IS_EVERYTHING || areRelated(first, second));
    if (others.length === 0) return;
    it(`${first}, and whatever may meet it`, async (t) => {
      const arena = await open(t);
      let schedules = 0;
      for (const second of others) {
        for (const start of startsOf(first, second)) schedules += await meetAll(arena, { first, second, start });
        const start = STARTS[(at + NAMES.indexOf(second) + SEED) % STARTS.length]!;
        await exploreByChance(schedule(arena, { first, second, start }), { seeds: COUNT, first: SEED });
      }
      t.diagnostic(`with ${others.length}: ${schedules} schedules, and ${others.length * COUNT} by chance`);
    });
  });
});

/** Two of a kind always, of the others every second; in states that both can do something about, in turns. */
function startsOf(first: ActionName, second: ActionName): readonly Start[] {
  if (IS_EVERYTHING) return STARTS;
  const nth = NAMES.indexOf(first) + NAMES.indexOf(second);
  return first === second || nth % 2 === 0 ? [startOf(first, second, nth)] : [];
}

function startOf(first: ActionName, second: ActionName, nth: number): Start {
  const names = [first, second];
  if (names.includes('a DLQ replay')) return 'dead';
  if (names.includes('a cancelled attempt')) return nth % 4 === 0 ? 'succeeded' : 'dead';
  const open = STARTS.filter((start) => !isFinished(start));
  return open[nth % open.length]!;
}

type Meeting = { first: ActionName; second: ActionName; start: Start };

async function meetAll(arena: Arena, meeting: Meeting): Promise<number> {
  return exploreAll(schedule(arena, meeting), { preemptionsMax: PREEMPTIONS_MAX });
}

/** On one node, on two, and so on in turns. */
function schedule(arena: Arena, { first, second, start }: Meeting) {
  // A node takes over a shard at a time.
  const isOfTwoNodes = first === 'a takeover' && second === 'a takeover';
  let nth = 0;
  return (choose: Choose) => {
    const isOnTwoNodes = isOfTwoNodes || nth++ % 2 === 1;
    return arena.meet({ names: [first, second], start, isOnTwoNodes }, choose);
  };
}
