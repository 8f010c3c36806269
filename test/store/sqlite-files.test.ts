// The files of the data directory taken away from under an open store: nothing is promised that no restart would find,
// and nobody else's files are touched.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { createSealer } from '../../src/runtime/sealer.ts';
import { createWriter } from '../../src/store/sqlite/file/connection.ts';
import { readEnvironments } from '../../src/store/sqlite/queries/configuration/environments.ts';
import { acceptEvents } from '../../src/store/sqlite/queries/events/accept.ts';
import { databasePath } from '../../src/store/sqlite/file/data-dir.ts';
import { openPrepared } from '../../src/store/sqlite/file/prepare-database.ts';
import { StoreError } from '../../src/store/store.ts';
import { MASTER_KEY, atEnd, makeDataDir, openServer } from './data-dirs.ts';
import { LIVE, Scene, result, succeed } from './scene.ts';

const unavailable = (error: unknown): boolean => error instanceof StoreError && error.code === 'unavailable';

/** A store that is open, with one delivery in it; its directory may be moved about. */
async function openMovable(t: TestContext) {
  const dataDir = join(makeDataDir(t), 'data');
  const scene = new Scene(await openServer(t, dataDir));
  const destination = await scene.createDestination();
  const { id } = await scene.acceptOne(destination);
  assert.equal(await scene.store.findTrouble!(), null);
  return { dataDir, scene, destination, id };
}

function replaceFile(path: string): void {
  writeFileSync(`${path}.other`, '');
  renameSync(`${path}.other`, path);
}

const ACCIDENTS: [name: string, trouble: RegExp, happen: (dataDir: string) => void][] = [
  ['the directory removed', /postrider\.db is gone/, (dataDir) => rmSync(dataDir, { recursive: true })],
  [
    'the directory replaced by an empty one',
    /postrider\.db is gone/,
    (dataDir) => {
      renameSync(dataDir, `${dataDir}.old`);
      mkdirSync(dataDir);
    },
  ],
  [
    'the directory replaced by a copy of itself',
    /postrider\.db is another file/,
    (dataDir) => {
      renameSync(dataDir, `${dataDir}.old`);
      cpSync(`${dataDir}.old`, dataDir, { recursive: true });
    },
  ],
  [
    'the directory replaced by a file',
    /postrider\.db is gone/,
    (dataDir) => {
      renameSync(dataDir, `${dataDir}.old`);
      writeFileSync(dataDir, '');
    },
  ],
  ['the database moved', /postrider\.db is gone/, (dataDir) => renameSync(databasePath(dataDir), `${dataDir}.db`)],
  ['the database replaced', /postrider\.db is another/, (dataDir) => replaceFile(databasePath(dataDir))],
  ['the log removed', /postrider\.db-wal is gone/, (dataDir) => rmSync(join(dataDir, 'postrider.db-wal'))],
  ['the log replaced', /postrider\.db-wal is another/, (dataDir) => replaceFile(join(dataDir, 'postrider.db-wal'))],
  ['the log’s index removed', /postrider\.db-shm is gone/, (dataDir) => rmSync(join(dataDir, 'postrider.db-shm'))],
  ['the lock removed', /server\.lock is gone/, (dataDir) => rmSync(join(dataDir, 'server.lock'))],
  ['the lock replaced', /server\.lock is another/, (dataDir) => replaceFile(join(dataDir, 'server.lock'))],
];

describe('files taken away from under the store', () => {
  for (const [name, trouble, happen] of ACCIDENTS) {
    it(`${name}: the next write of any kind is refused, and it says why`, async (t) => {
      const { dataDir, scene, destination, id } = await openMovable(t);
      happen(dataDir);
      // Without these two nothing is lost until somebody looks, once a second.
      if (/shm|lock/.test(trouble.source)) await scene.store.findTrouble!();
      await assert.rejects(scene.accept([destination]), unavailable);
      await assert.rejects(scene.record(result(id, 0, succeed())), unavailable);
      await assert.rejects(scene.createDestination(), unavailable);
      assert.match((await scene.store.findTrouble!())!, trouble);
      const { freeBytes } = await scene.store.readStats();
      assert.ok(freeBytes === null || freeBytes > 0, 'metrics go on');
      await scene.store.close();
    });
  }

  it('that go while a transaction is being written: it is not acknowledged', async (t) => {
    const dataDir = makeDataDir(t);
    const writer = openWriter(dataDir);
    atEnd(t, () => writer.close());
    const event = {
      ...(await sceneOf(writer).event([])),
      // Read when its transaction has begun.
      get type() {
        renameSync(databasePath(dataDir), join(dataDir, 'moved'));
        return 'order.paid';
      },
    };
    assert.throws(() => writer.run(acceptEvents, [event]), unavailable);
  });

  it('and put back: the store goes on, with nothing in it of what was refused meanwhile', async (t) => {
    const { dataDir, scene, destination, id } = await openMovable(t);
    renameSync(dataDir, `${dataDir}.away`);
    const refused = await scene.event([destination]);
    await assert.rejects(scene.store.acceptEvents([refused]), unavailable);
    await assert.rejects(scene.record(result(id, 0, succeed())), unavailable);
    renameSync(`${dataDir}.away`, dataDir);
    assert.equal(await scene.store.findTrouble!(), null);
    assert.equal(await scene.store.readEvent({ environment: LIVE, id: refused.id }), null);
    assert.deepEqual((await scene.record(result(id, 0, succeed()))).outcomes, [{ result: 'recorded' }]);
    assert.equal((await scene.read(id))!.attempts.length, 1);
    await scene.accept([destination]);
    assert.equal(await scene.unfinishedCount(), 1);
  });

  it('and put back behind a link that led elsewhere meanwhile: nothing was written into them', async (t) => {
    const folder = makeDataDir(t);
    const [dataDir, own, other] = ['link', 'own', 'other'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const lead = (to: string): void => {
      rmSync(dataDir, { force: true });
      symlinkSync(to, dataDir);
    };
    for (const path of [own, other]) mkdirSync(path, { mode: 0o700 });
    lead(own);
    const scene = new Scene(await openServer(t, dataDir));
    const destination = await scene.createDestination();
    lead(other);
    const refused = await scene.event([destination]);
    await assert.rejects(scene.store.acceptEvents([refused]), unavailable);
    lead(own);
    assert.equal(await scene.store.findTrouble!(), null);
    assert.equal(await scene.store.readEvent({ environment: LIVE, id: refused.id }), null);
  });

  it('are let go of when the store is closed', { skip: !existsSync('/proc/self/fd') }, (t) => {
    const dataDir = realpathSync(makeDataDir(t));
    const writer = openWriter(dataDir);
    assert.ok(openFilesIn(dataDir).length > 0);
    writer.close();
    assert.deepEqual(openFilesIn(dataDir), []);
  });

  it('of the log alone: what was promised is moved into the database before it is too late', async (t) => {
    const { dataDir, scene, id } = await openMovable(t);
    rmSync(join(dataDir, 'postrider.db-wal'));
    assert.match((await scene.store.findTrouble!())!, /-wal is gone/);
    // As after kill -9: the database without what the store would do when it is closed.
    const copy = makeDataDir(t);
    cpSync(databasePath(dataDir), databasePath(copy));
    const found = new Scene(await openServer(t, copy));
    assert.equal((await found.read(id))?.status, 'pending');
  });

  it('of a new store in the same place: that one is left alone when the old one is closed', async (t) => {
    const { dataDir, scene } = await openMovable(t);
    rmSync(dataDir, { recursive: true });
    const other = new Scene(await openServer(t, dataDir));
    const destination = await other.createDestination();
    const { id } = await other.acceptOne(destination);
    const log = join(dataDir, 'postrider.db-wal');
    const { ino } = statSync(log, { bigint: true });
    await scene.store.close();
    assert.equal(statSync(log, { bigint: true }).ino, ino);
    assert.ok(existsSync(join(dataDir, 'postrider.db-shm')));
    assert.equal(await other.store.findTrouble!(), null);
    await other.acceptOne(destination);
    assert.equal((await other.read(id))?.status, 'pending');
    // And the lock is the new one's: a third is refused.
    await assert.rejects(openServer(t, dataDir), (error) => error instanceof StoreError && error.code === 'in_use');
  });
});

type Writer = ReturnType<typeof createWriter>;

/** On this thread, without the others. */
function openWriter(dataDir: string): Writer {
  const db = openPrepared(databasePath(dataDir), createSealer(MASTER_KEY, systemRandom));
  const options = { dataDir, diskReserveBytes: 0, maxBacklogPerDestination: 1, masterKey: MASTER_KEY };
  const passive = { start: () => {}, isRunning: () => false, wait: () => {} };
  return createWriter({ ...options, db, passive, clock: systemClock, random: systemRandom });
}

function openFilesIn(dataDir: string): string[] {
  const links = readdirSync('/proc/self/fd').map((file) => {
    try {
      return readlinkSync(`/proc/self/fd/${file}`);
    } catch {
      // That of the listing itself is gone by now.
      return '';
    }
  });
  return links.filter((link) => link.startsWith(dataDir));
}

/** For making events only. */
function sceneOf(writer: Writer): Scene {
  return new Scene({ readEnvironments: async () => writer.run(readEnvironments) } as never);
}
