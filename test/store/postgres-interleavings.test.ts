// The races of real PostgreSQL: one writer is stopped before each of its statements in turn, and another one does all
// it wants meanwhile (or waits for a lock of the first, until that goes on). Whatever they come to is legal.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DeliveryId, DestinationId, EventId } from '../../src/model/id.ts';
import { delay, systemClock } from '../../src/runtime/clock.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { atEnd } from './data-dirs.ts';
import { Databases, storeOptions } from './postgres/databases.ts';
import { startPostgres } from './postgres/server.ts';
import type { PostgresServer } from './postgres/server.ts';
import { HOUR, LIVE, Scene, die, result, retryAt, succeed } from './scene.ts';

type Case = { id: DeliveryId; eventId: EventId; destination: DestinationId; rev: number; now: number };
type Action = (store: Store, subject: Case) => Promise<unknown>;

const record =
  (decide: (now: number) => ReturnType<typeof succeed>): Action =>
  async (store, { id, rev, now }) => {
    const { outcomes } = await store.recordResults({ results: [result(id, rev, decide(now))], health: [], now });
    return outcomes[0]!.result;
  };
const again = ({ id, now }: Case) => ({ environment: LIVE, id, now, bodyCutoff: 0 });

const ACTIONS: Record<string, Action> = {
  'a success': record((now) => succeed(now)),
  'a failure': record((now) => retryAt(now + HOUR)),
  'a last failure': record((now) => die('exhausted', now)),
  'a manual retry': async (store, subject) => (await store.retryDelivery(again(subject))).result,
  'a replay': async (store, subject) => (await store.replayDead(again(subject))).result,
  'a deletion': (store, { destination: id, now }) => store.deleteDestination({ environment: LIVE, id, now }),
  expiry: (store, { now }) => store.eraseBodies({ cutoff: now - 1, now, budgetMs: 1_000 }),
};
const RESULTS = ['a success', 'a failure', 'a last failure'];

/** What stops a writer before its nth statement. */
class Stop {
  #left = Number.POSITIVE_INFINITY;
  #reached: () => void = () => {};
  #resume: () => void = () => {};

  /** Resolves when it has stopped there. */
  arm(nth: number): Promise<'stopped'> {
    this.#left = nth;
    return new Promise((resolve) => (this.#reached = () => resolve('stopped')));
  }

  resume(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#resume();
  }

  readonly beforeStatement = async (): Promise<void> => {
    if (this.#left-- !== 0) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      this.#reached();
    });
  };
}

/** Long enough for a writer that waits for nobody; one that waits for a lock gets it afterwards. */
const UNHINDERED_MS = 60;
const STATEMENTS_MAX = 40;

describe('two writers of one delivery', () => {
  let server: PostgresServer;
  let databases: Databases;
  before(async () => {
    server = await startPostgres(['fsync=off']);
    databases = new Databases(server);
  });
  after(() => server.stop());

  for (const [first, act] of Object.entries(ACTIONS)) {
    it(`${first}, overtaken by each of the others before each of its statements`, async (t) => {
      const url = await databases.make(t);
      const stop = new Stop();
      const stopped = await openPostgresStore(storeOptions(url, { beforeStatement: stop.beforeStatement }));
      atEnd(t, () => stopped.close());
      const other = await openPostgresStore(storeOptions(url));
      atEnd(t, () => other.close());
      const scene = new Scene(other);
      for (const [second, overtake] of Object.entries(ACTIONS)) {
        for (const isDead of [false, true]) {
          if (isDead && RESULTS.includes(first) && RESULTS.includes(second)) continue;
          for (let nth = 0; nth < STATEMENTS_MAX; nth++) {
            const subject = await makeCase(scene, isDead);
            const reached = stop.arm(nth);
            const acting = act(stopped, subject);
            if ((await Promise.race([reached, acting])) !== 'stopped') {
              stop.resume();
              break;
            }
            const overtaking = overtake(other, subject);
            await Promise.race([Promise.allSettled([overtaking]), delay(systemClock, UNHINDERED_MS)]);
            stop.resume();
            const came = await Promise.all([acting, overtaking]);
            const names = [first, second];
            const recorded = came.filter((one, i) => RESULTS.includes(names[i]!) && one === 'recorded').length;
            await assertLegal(scene, { subject, isDead, recorded, what: `${first}, before ${nth}: ${second}` });
          }
        }
      }
    });
  }
});

async function makeCase(scene: Scene, isDead: boolean): Promise<Case> {
  scene.pass(HOUR);
  const destination = await scene.createDestination();
  const { id, eventId } = await scene.acceptOne(destination);
  if (isDead) await scene.record(result(id, 0, die('exhausted', scene.now)));
  // The event is old enough for the expiry of this case, and for no other's.
  scene.pass(10);
  return { id, eventId, destination, rev: isDead ? 1 : 0, now: scene.now };
}

async function assertLegal(
  scene: Scene,
  { subject, isDead, recorded, what }: { subject: Case; isDead: boolean; recorded: number; what: string },
): Promise<void> {
  const delivery = await scene.read(subject.id);
  assert.ok(delivery !== null, what);
  const { status, deadReason, completedAt, nextAttemptAt, attemptCount, attempts, responseCodes } = delivery;
  const isOpen = status === 'pending' || status === 'retrying';
  assert.equal(deadReason !== null, status === 'dead', what);
  assert.equal(completedAt !== null, !isOpen, what);
  assert.equal(nextAttemptAt !== null, isOpen, what);
  assert.ok(recorded <= 1, `${what}: of two results of one revision one counts`);
  assert.equal(attemptCount, recorded + (isDead ? 1 : 0), what);
  assert.deepEqual([attempts.length, responseCodes.length], [attemptCount, attemptCount], what);
  const listed = await scene.list({ eventId: subject.eventId });
  assert.deepEqual(
    listed.rows.map((row) => row.id),
    [subject.id],
    `${what}: in one table, and only there`,
  );
}
