// Room: the reserve, a disk that is really full, a log that stays short, a file that does not grow for ever.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { createSealer } from '../../src/runtime/sealer.ts';
import { storeOn } from '../support/in-thread-store.ts';
import { databasePath } from '../../src/store/sqlite/file/data-dir.ts';
import { openDatabase, readNumber } from '../../src/store/sqlite/file/database.ts';
import { openPrepared } from '../../src/store/sqlite/file/prepare-database.ts';
import { StoreError } from '../../src/store/store.ts';
import { MASTER_KEY, atEnd, makeDataDir, openServer } from './data-dirs.ts';
import { DAY, LIVE, MANY, START, Scene, result, retryAt, succeed } from './scene.ts';

const MIB = 1024 * 1024;

const diskFull = (error: unknown): boolean => error instanceof StoreError && error.code === 'disk_full';

/** About `mib` MiB of events, nobody's. */
async function acceptMib(scene: Scene, mib: number): Promise<void> {
  const body = systemRandom.bytes(256 * 1024);
  for (let i = 0; i < mib; i++) {
    const events = await Promise.all([1, 2, 3, 4].map(() => scene.event([], { body })));
    await scene.store.acceptEvents(events);
  }
}

async function untilDone(step: () => Promise<{ more: boolean }>): Promise<void> {
  while ((await step()).more);
}

async function eraseAndPrune(scene: Scene): Promise<void> {
  const request = { cutoff: scene.now, now: scene.now, budgetMs: 5 };
  await untilDone(() => scene.store.eraseBodies(request));
  await untilDone(() => scene.store.pruneRows(request));
}

describe('the disk reserve', () => {
  it('refuses what adds work or configuration, and nothing that ends or removes it', async (t) => {
    const dataDir = makeDataDir(t);
    const roomy = new Scene(await openServer(t, dataDir));
    const destination = await roomy.createDestination();
    const subscriptionId = await roomy.createSubscription(destination);
    const event = await roomy.accept([destination, destination]);
    const key = roomy.apiKey();
    await roomy.store.createApiKey(key);
    await roomy.store.close();

    const scene = new Scene(await openServer(t, dataDir, { diskReserveBytes: Number.MAX_SAFE_INTEGER }));
    const { store } = scene;
    const configVersion = await scene.configVersion();
    const replay = { environment: LIVE, eventId: event.id, configVersion, deliveries: [], now: START, bodyCutoff: 0 };
    const subscription = { subscription: scene.subscription(destination), identity: new Uint8Array(32) };
    const rotate = {
      environment: LIVE,
      id: destination,
      key: scene.signingKey(),
      previousExpiresAt: START,
      now: START,
    };
    await assert.rejects(store.acceptEvents([await scene.event([])]), diskFull);
    await assert.rejects(store.replayEvent(replay), diskFull);
    await assert.rejects(store.createDestination(scene.destination(), { max: 9 }), diskFull);
    await assert.rejects(
      store.updateDestination({ environment: LIVE, id: destination, change: {}, now: START }),
      diskFull,
    );
    await assert.rejects(store.createSubscription(subscription, MANY), diskFull);
    await assert.rejects(store.rotateSigningKey(rotate), diskFull);
    await assert.rejects(store.createApiKey(scene.apiKey()), diskFull);

    const [first, second] = event.deliveries;
    assert.equal((await scene.record(result(first!.id, 0, succeed()))).outcomes[0]!.result, 'recorded');
    assert.equal((await store.retryDelivery(scene.sendAgain(second!.id))).result, 'scheduled');
    assert.equal(await store.revokeApiKey({ environments: [LIVE], id: key.id }), true);
    assert.equal(await store.deleteSubscription({ environment: LIVE, id: subscriptionId }), true);
    assert.equal(await store.deleteDestination({ environment: LIVE, id: destination, now: START }), true);
    scene.pass(DAY);
    await eraseAndPrune(scene);
    assert.equal(await store.readEvent({ environment: LIVE, id: event.id }), null);
  });
});

/** A store in this thread that may not grow beyond so many pages: full, whatever the disk says. */
function openCramped(t: TestContext, pagesMax: number): { scene: Scene; grow: () => void } {
  const path = databasePath(makeDataDir(t));
  const db = openPrepared(path, createSealer(MASTER_KEY, systemRandom));
  db.exec(`PRAGMA max_page_count = ${pagesMax}`);
  const options = {
    diskReserveBytes: 0,
    maxBacklogPerDestination: 1_000_000,
    clock: systemClock,
    random: systemRandom,
  };
  const store = storeOn(db, { ...options, masterKey: MASTER_KEY });
  atEnd(t, () => store.close());
  const scene = new Scene(store);
  return { scene, grow: () => db.exec('PRAGMA max_page_count = 1000000') };
}

describe('a full disk', () => {
  it('rolls the transaction back whole, counts included, and the next one works when there is room', async (t) => {
    const { scene, grow } = openCramped(t, 400);
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    const tooMuch = await Promise.all(
      Array.from({ length: 40 }, () => scene.event([destination], { body: systemRandom.bytes(100_000) })),
    );
    await assert.rejects(scene.store.acceptEvents(tooMuch), diskFull);
    assert.equal(await scene.store.readEvent({ environment: LIVE, id: tooMuch[0]!.id }), null);
    assert.equal(await scene.unfinishedCount(), 1);
    assert.equal((await scene.record(result(id, 0, retryAt(START)))).outcomes[0]!.result, 'recorded');
    grow();
    const accepted = await scene.store.acceptEvents(tooMuch);
    assert.ok(accepted.every((one) => one.result === 'accepted'));
    assert.equal(await scene.unfinishedCount(), 41);
  });

  it('of the operating system is told apart, survived, and over when there is room again', async (t) => {
    const dataDir = makeDataDir(t);
    if (!mountSmallDisk(t, dataDir, 24)) return t.skip('needs root, to mount a small disk');
    const scene = new Scene(await openServer(t, dataDir));
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    await assert.rejects(acceptMib(scene, 60), diskFull);
    await assert.rejects(acceptMib(scene, 60), diskFull);
    assert.equal((await scene.read(id))!.status, 'pending', 'reading goes on');
    assert.equal(await scene.unfinishedCount(), 1);
    execFileSync('mount', ['-o', 'remount,size=200m', dataDir]);
    await acceptMib(scene, 10);
    assert.equal((await scene.record(result(id, 0, succeed()))).outcomes[0]!.result, 'recorded');
    await scene.store.close();
    const again = new Scene(await openServer(t, dataDir));
    assert.equal((await again.read(id))!.status, 'succeeded');
  });
});

function mountSmallDisk(t: TestContext, path: string, mib: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return false;
  }
  atEnd(t, () => execFileSync('umount', [path]));
  return true;
}

describe('the write-ahead log', () => {
  it('stays short however much is written', async (t) => {
    const dataDir = makeDataDir(t);
    const scene = new Scene(await openServer(t, dataDir));
    for (let i = 0; i < 15; i++) {
      await acceptMib(scene, 10);
      assert.ok(logBytes(dataDir) < 64 * MIB, `${logBytes(dataDir) / MIB} MiB`);
    }
    assert.ok(statSync(databasePath(dataDir)).size > 80 * MIB, 'what left the log is in the file');
  });

  it('grows while somebody reads an old state, holds nobody up, and is short again afterwards', async (t) => {
    const dataDir = makeDataDir(t);
    const scene = new Scene(await openServer(t, dataDir));
    await acceptMib(scene, 1);
    const reader = openDatabase(databasePath(dataDir), { readOnly: true });
    reader.exec('BEGIN');
    const count = reader.prepare('SELECT count(*) AS n FROM events');
    assert.equal(count.get()!['n'], 4);
    await acceptMib(scene, 90);
    assert.ok(logBytes(dataDir) > 80 * MIB, 'the reader’s state is kept');
    assert.equal(count.get()!['n'], 4);
    reader.close();
    await acceptMib(scene, 40);
    assert.ok(logBytes(dataDir) < 70 * MIB, `${logBytes(dataDir) / MIB} MiB`);
  });
});

function logBytes(dataDir: string): number {
  return statSync(`${databasePath(dataDir)}-wal`).size;
}

const TRAFFIC_TABLES = [
  'events',
  'event_bodies',
  'deliveries',
  'attempts',
  'idempotency',
  'subscriptions',
  'destinations',
  'signing_keys',
  'destination_health',
];

/** Of the destination that is still there. */
const ONE_KEPT = new Set(['destinations', 'signing_keys']);

describe('the file', () => {
  it('keeps its size when as much is pruned as is added', async (t) => {
    const dataDir = makeDataDir(t);
    const scene = new Scene(await openServer(t, dataDir));
    const destination = await scene.createDestination();
    const sizes: number[] = [];
    for (let day = 0; day < 5; day++, scene.pass(DAY)) {
      const deliveries = Array.from({ length: 100 }, () => destination);
      for (let i = 0; i < 10; i++) {
        const event = await scene.accept(deliveries, { body: systemRandom.bytes(50_000) });
        await scene.record(...event.deliveries.map(({ id }) => result(id, 0, succeed())));
      }
      await eraseAndPrune(scene);
      sizes.push(pageCount(dataDir));
    }
    assert.ok(sizes[4]! <= sizes[1]! * 1.02, sizes.join());
  });

  it('holds nothing of what was pruned', async (t) => {
    const dataDir = makeDataDir(t);
    const scene = new Scene(await openServer(t, dataDir));
    const destination = await scene.createDestination();
    const kept = await scene.createDestination();
    await scene.store.deleteSubscription({ environment: LIVE, id: await scene.createSubscription(kept) });
    const idempotency = { fingerprint: new Uint8Array(32), expiresAt: START + 1 };
    const { deliveries } = await scene.accept([destination], { idempotencyKey: 'k', idempotency });
    for (let rev = 0; rev < 120; rev++) await scene.record(result(deliveries[0]!.id, rev, retryAt(START)));
    await scene.store.deleteDestination({ environment: LIVE, id: destination, now: START });
    // A subscription's deletion has the machine's own time.
    scene.now = systemClock.now() + DAY;
    await eraseAndPrune(scene);
    const db = openDatabase(databasePath(dataDir), { readOnly: true });
    atEnd(t, () => db.close());
    for (const table of TRAFFIC_TABLES) {
      assert.equal(readNumber(db, `SELECT count(*) FROM ${table}`), ONE_KEPT.has(table) ? 1 : 0, table);
    }
  });

  it('gives back what is far more than it will need', async (t) => {
    const dataDir = makeDataDir(t);
    const scene = new Scene(await openServer(t, dataDir));
    await acceptMib(scene, 100);
    scene.pass(DAY);
    await eraseAndPrune(scene);
    await scene.store.close();
    assert.ok(statSync(databasePath(dataDir)).size < 70 * MIB, 'and keeps 64 MiB for what comes next');
  });

  it('is measured, with the room that is left', async (t) => {
    const scene = new Scene(await openServer(t, makeDataDir(t)));
    const before = await scene.store.readStats();
    await acceptMib(scene, 4);
    const { storedBytes, freeBytes } = await scene.store.readStats();
    assert.ok(storedBytes! >= before.storedBytes! + 4 * MIB);
    assert.ok(freeBytes! > 0);
  });
});

function pageCount(dataDir: string): number {
  const db = openDatabase(databasePath(dataDir), { readOnly: true });
  const pages = readNumber(db, 'PRAGMA page_count');
  db.close();
  return pages;
}
