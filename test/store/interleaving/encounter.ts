// Two writers meet over one subject, in one schedule: everything that must hold of every state on the way, of the
// answers, and of what is left when maintenance has been by.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { systemRandom } from '../../../src/runtime/random.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { atEnd } from '../data-dirs.ts';
import { storeOptions } from '../postgres/databases.ts';
import { stepped } from '../postgres/stepped-pipeline.ts';
import { LIVE, MINUTE, Scene } from '../scene.ts';
import { ACTIONS, type ActionName } from './actions.ts';
import { BUDGET } from './delivery-actions.ts';
import { Observer, type DatabaseState } from './database-state.ts';
import { assertLegalState, assertLegalTransition } from './legal-state.ts';
import { makeNodes, makeSubject, type Start, type Subject } from './subject.ts';
import { TwoWriters, describe, type Choose, type Step, type Which } from './two-writers.ts';
import { deliveryOf, isDestinationDeleted, uuid, type Action, type View } from './view.ts';

export type Encounter = {
  names: readonly [ActionName, ActionName];
  start: Start;
  /** Each writer on a node of its own, with a memory of its own. */
  isOnTwoNodes: boolean;
};

type Moment = { step: Step | null; state: DatabaseState };

/** Of a transaction: what it changes of deliveries, it changes by the destinations that this statement found. */
const MOVING = /^(record_at_once|record_finish|record_move_on|open_deliveries_take|deliveries_destinations)$/;

/** Only transactions that write have a name, and only they have a statement that writes at once. */
const WRITING = /^transaction_xid$|_at_once$/;

/** A writer that is stopped is not one that has vanished, however slow the machine is. */
const PATIENCE_MS = 60_000;
const TIME_OUTS = ['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout'];
const BE_PATIENT = TIME_OUTS.map((name) => `SET ${name} = ${PATIENCE_MS}`).join('; ');

/** The client's own time-out; those of the server are a connection's. */
function withPatience(url: string): string {
  const patient = new URL(url);
  patient.searchParams.set('query_timeout', String(PATIENCE_MS));
  return patient.href;
}

export class Arena {
  readonly #stores: readonly [Store, Store];
  /** For what comes before and after, which nobody has to stop. */
  readonly #free: Store;
  readonly #observer: Observer;
  readonly #writers: TwoWriters;
  readonly #scene: Scene;

  private constructor(
    stores: { stopped: readonly [Store, Store]; free: Store },
    observer: Observer,
    writers: TwoWriters,
  ) {
    this.#stores = stores.stopped;
    this.#free = stores.free;
    this.#observer = observer;
    this.#writers = writers;
    this.#scene = new Scene(stores.free);
  }

  static async open(t: TestContext, url: string): Promise<Arena> {
    const observer = await Observer.open(url);
    atEnd(t, () => observer.close());
    const writers = new TwoWriters(observer.countLockWaits);
    // Whoever was in the other's way tries again at once: who goes first is for the schedule to say.
    const random = { ...systemRandom, fraction: () => 0 };
    const step = stepped(writers.beforeStatement);
    const createPipeline: typeof step = (client) => {
      client.query(BE_PATIENT).catch(() => {});
      return step(client);
    };
    const open = async (options: Partial<PostgresStoreOptions>): Promise<Store> => {
      const store = await openPostgresStore(storeOptions(withPatience(url), { ...options, keyWaitMs: PATIENCE_MS }));
      atEnd(t, () => store.close());
      return store;
    };
    const stopped = [await open({ random, createPipeline }), await open({ random, createPipeline })] as const;
    return new Arena({ stopped, free: await open({}) }, observer, writers);
  }

  /** One schedule. Returns its steps. */
  async meet(encounter: Encounter, choose: Choose): Promise<Step[]> {
    const { names, start, isOnTwoNodes } = encounter;
    const { subject, state: first } = await this.#prepare(encounter);
    const moments: Moment[] = [{ step: null, state: first }];
    const stores = isOnTwoNodes ? this.#stores : ([this.#stores[0], this.#stores[0]] as const);
    const acts = ([0, 1] as const).map((writer) => () => {
      const { act } = ACTIONS[names[writer]];
      return act({ store: stores[writer], scene: this.#scene, subject, writer });
    }) as [() => Promise<unknown>, () => Promise<unknown>];
    try {
      const isWriting = [false, false];
      const answers = await this.#writers.run(acts, choose, async (step) => {
        const isEnd = step.name === 'COMMIT';
        const state = isEnd && isWriting[step.writer] ? await this.#observer.readState() : moments.at(-1)!.state;
        if (isEnd || WRITING.test(step.name)) isWriting[step.writer] = !isEnd;
        moments.push({ step, state });
      });
      judgeWay(moments);
      answers.forEach((answer, which) => {
        if (answer.status === 'rejected') throw answer.reason;
        const judged: Action = ACTIONS[names[which]!];
        judged.judge(answer.value, viewOf(moments, subject, which as Which));
      });
      const { state } = moments.at(-1)!;
      if (!isOnTwoNodes) await this.#assertCounted(state);
      await this.#tidyUp(encounter, state, subject);
    } catch (error) {
      const came = moments.flatMap(({ step }) => (step === null ? [] : [step]));
      const where = isOnTwoNodes ? 'on two nodes' : 'on one node';
      throw new Error(`${names.join(' and ')}, ${start}, ${where}: ${describe(came)}`, { cause: error });
    }
    return moments.flatMap(({ step }) => (step === null ? [] : [step]));
  }

  async #prepare({ names, start, isOnTwoNodes }: Encounter): Promise<{ subject: Subject; state: DatabaseState }> {
    await this.#observer.empty();
    const isDeleted = names.includes('ending what a deletion left') && !names.includes('a deletion');
    const hasTwoKeys = names.includes('the end of a key');
    const hasSubscription = names.includes('the end of a subscription') || names.includes('a deletion');
    const made = await makeSubject(this.#scene, { start, hasTwoKeys, hasSubscription });
    const deletion = { environment: LIVE, id: made.destination, now: made.now };
    if (isDeleted) await this.#stores[0].deleteDestination(deletion);
    if (names.includes('a takeover')) await makeNodes(this.#scene, made);
    if (!isOnTwoNodes) await this.#stores[0].cluster!.recountUnfinished();
    const state = await this.#observer.readState();
    return { subject: { ...made, configVersion: state.environment.config_version }, state };
  }

  /** A node alone has counted right without being told. */
  async #assertCounted({ deliveries, destinations }: DatabaseState): Promise<void> {
    const isLive = new Set(destinations.filter((one) => one.deleted_at === null).map(({ id }) => id));
    const open = deliveries.filter((row) => row.place === 'open' && isLive.has(row.destination_id)).length;
    const { unfinished } = await this.#stores[0].readStats();
    const counted = unfinished.find(({ environment }) => environment === LIVE)?.count ?? 0;
    assert.equal(counted, open, 'the backlog is right');
  }

  /** What a deletion, expiry or pruning left to the next step is done by it. */
  async #tidyUp({ names, isOnTwoNodes }: Encounter, before: DatabaseState, subject: Subject): Promise<void> {
    const { now } = subject;
    const cutoff = now - 1;
    if (names.includes('expiry')) {
      await this.#free.eraseBodies({ cutoff, now, ...BUDGET });
      const state = await this.#observer.readState();
      assert.ok(deliveryOf(state, subject)?.place !== 'open', 'nothing unfinished is left without a body');
      assert.ok(!state.bodies.includes(uuid(subject.eventId)), 'its body is gone');
    }
    if (names.includes('pruning')) {
      await this.#free.pruneRows({ cutoff, now, ...BUDGET });
      const { deliveries, events } = await this.#observer.readState();
      const eventId = uuid(subject.eventId);
      assert.ok(!events.some(({ id }) => id === eventId), 'the event is gone');
      assert.ok(!deliveries.some((row) => row.event_id === eventId), 'so are its deliveries');
    }
    // Once for two schedules: it takes as long as the meeting.
    if (isDestinationDeleted(before, subject) && !isOnTwoNodes) await this.#tidyUpDeleted(now + 2 * MINUTE);
  }

  async #tidyUpDeleted(later: number): Promise<void> {
    await this.#free.endDeletedDeliveries({ now: later, ...BUDGET });
    const ended = await this.#observer.readState();
    assertLegalState(ended);
    assert.ok(!ended.deliveries.some(({ place }) => place === 'open'), 'nothing stays open');
    await this.#free.pruneRows({ cutoff: later, now: later, ...BUDGET });
    this.#scene.pass(3 * MINUTE);
    const { deliveries, destinations, health, attempts, events } = await this.#observer.readState();
    assert.deepEqual([deliveries, destinations, health, attempts, events], [[], [], [], [], []], 'nothing is left');
  }
}

function judgeWay(moments: readonly Moment[]): void {
  for (const state of new Set(moments.map((moment) => moment.state))) assertLegalState(state);
  moments.forEach(({ step, state }, at) => {
    if (step?.name !== 'COMMIT') return;
    const moving = moments.findLastIndex(
      (moment, i) => i < at && moment.step?.writer === step.writer && MOVING.test(moment.step.name),
    );
    const found = moving === -1 ? null : moments[moving - 1]!.state;
    const wasGoneBefore = found?.destinations.some((one) => one.deleted_at !== null) ?? false;
    assertLegalTransition({ before: moments[at - 1]!.state, after: state, wasGoneBefore });
  });
}

function viewOf(moments: readonly Moment[], subject: Subject, which: Which): View {
  const own = moments.flatMap(({ step }, at) => (step?.writer === which ? [at] : []));
  const [first, last] = [own[0]!, own.at(-1)!];
  return {
    subject,
    during: [...new Set(moments.slice(first - 1, last + 1).map(({ state }) => state))],
    commits: own.flatMap((at) => {
      const [before, after] = [moments[at - 1]!.state, moments[at]!.state];
      return before === after ? [] : [{ before, after }];
    }),
    stateAt(...statements) {
      const at = own.findLast((one) => statements.includes(moments[one]!.step!.name));
      if (at === undefined) throw new Error(`${statements.join(', ')}: none was run`);
      return moments[at - 1]!.state;
    },
  };
}
