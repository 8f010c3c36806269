// Opening the embedded store: what is refused, that a refusal changes nothing and says what to do, and that a start
// that was cut off is gone on with.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { loadMasterKey } from '../../src/store/sqlite/file/master-key.ts';
import { openStore } from '../../src/store/open.ts';
import { backupSqlite } from '../../src/store/sqlite/file/backup.ts';
import { assertStoreIsThere, databasePath } from '../../src/store/sqlite/file/data-dir.ts';
import { openDatabase, readNumber } from '../../src/store/sqlite/file/database.ts';
import { takeServerLock } from '../../src/store/sqlite/file/server-lock.ts';
import { openSqliteTool } from '../../src/store/sqlite/tool-store.ts';
import { StoreError, type StoreErrorCode } from '../../src/store/store.ts';
import { mountDisk } from '../e2e/small-disk.ts';
import { MASTER_KEY, atEnd, makeDataDir, openServer } from './data-dirs.ts';
import { listLayouts, restoreSqlite } from './layouts/layouts.ts';
import { LIVE, Scene } from './scene.ts';

/** A user that nothing belongs to. */
const NOBODY = 65_534;

/** A data directory that a server has used and left. */
async function makeUsed(t: TestContext): Promise<{ dataDir: string; path: string; scene: Scene }> {
  const dataDir = makeDataDir(t);
  const scene = new Scene(await openServer(t, dataDir));
  const destination = await scene.createDestination();
  for (let i = 0; i < 50; i++) await scene.accept([destination]);
  await scene.store.close();
  return { dataDir, path: databasePath(dataDir), scene };
}

function refuses(code: StoreErrorCode, ...says: string[]) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof StoreError, 'a StoreError');
    assert.equal(error.code, code);
    for (const part of says) assert.ok(error.message.includes(part), `'${part}' in: ${error.message}`);
    return true;
  };
}

function edit(path: string, sql: string): void {
  const db = openDatabase(path);
  db.exec(sql);
  db.close();
}

describe('opening', () => {
  it('finds everything again that was stored before', async (t) => {
    const { dataDir } = await makeUsed(t);
    const scene = new Scene(await openServer(t, dataDir));
    assert.equal(await scene.unfinishedCount(), 50);
    assert.equal((await scene.list()).rows.length, 50);
  });

  it('makes files that are their owner’s alone, whoever made the directory', async (t) => {
    const { dataDir } = await makeUsed(t);
    await openServer(t, dataDir);
    backupSqlite({ dataDir, target: join(dataDir, 'copy') });
    for (const name of ['postrider.db', 'postrider.db-wal', 'postrider.db-shm', 'copy']) {
      assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name);
    }
  });

  it('syncs every commit, and leaves no checkpoint to chance', async (t) => {
    const { path } = await makeUsed(t);
    const db = openDatabase(path);
    atEnd(t, () => db.close());
    assert.equal(readNumber(db, 'PRAGMA synchronous'), 2, 'FULL');
    assert.equal(readNumber(db, 'PRAGMA wal_autocheckpoint'), 0);
    assert.equal(db.prepare('PRAGMA journal_mode').get()!['journal_mode'], 'wal');
    assert.ok(readNumber(db, 'PRAGMA busy_timeout') > 0);
  });

  it('refuses a second server on the same directory, naming it and the process, at once', async (t) => {
    const dataDir = makeDataDir(t);
    const first = await openServer(t, dataDir);
    await assert.rejects(openServer(t, dataDir), refuses('in_use', dataDir, `${process.pid}`));
    await first.close();
    await openServer(t, dataDir);
  });

  it('refuses a database of a newer program, and leaves it as it was', async (t) => {
    const { dataDir, path } = await makeUsed(t);
    edit(path, 'PRAGMA user_version = 99');
    const before = readFileSync(path);
    await assert.rejects(openServer(t, dataDir), refuses('newer_schema', path, '99'));
    assert.deepEqual(readFileSync(path), before);
  });

  it('refuses another master key before anything is changed', async (t) => {
    const { dataDir, path } = await makeUsed(t);
    edit(path, 'PRAGMA user_version = 0; DROP TABLE attempts; PRAGMA user_version = 1');
    const before = readFileSync(path);
    const masterKey = new Uint8Array(32).fill(8);
    await assert.rejects(openServer(t, dataDir, { masterKey }), refuses('wrong_master_key', 'master.key'));
    assert.deepEqual(readFileSync(path), before);
  });

  it('refuses a file that is no database, a damaged one, and somebody else’s', async (t) => {
    const garbage = makeDataDir(t);
    writeFileSync(databasePath(garbage), 'not a database '.repeat(1_000));
    await assert.rejects(openServer(t, garbage), refuses('corrupt', databasePath(garbage), 'backup'));

    const truncated = await makeUsed(t);
    truncateSync(truncated.path, statSync(truncated.path).size - 3 * 4_096);
    await assert.rejects(openServer(t, truncated.dataDir), refuses('corrupt', truncated.path));

    const foreign = makeDataDir(t);
    edit(databasePath(foreign), 'CREATE TABLE cats (name TEXT)');
    await assert.rejects(openServer(t, foreign), refuses('corrupt', databasePath(foreign)));
  });

  it('refuses a directory that cannot be made or written', async (t) => {
    const file = join(makeDataDir(t), 'file');
    writeFileSync(file, '');
    for (const dataDir of [join(file, 'data'), '/proc/postrider']) {
      await assert.rejects(openServer(t, dataDir), refuses('unwritable', dataDir, 'DATA_DIR'));
    }
  });

  it('goes on where a first start was cut off: until it is whole the database has another name', async (t) => {
    const begun = makeDataDir(t);
    const draft = `${databasePath(begun)}.${process.pid}.new`;
    writeFileSync(draft, 'half a database');
    writeFileSync(`${draft}-journal`, '');
    await openServer(t, begun);
    assert.deepEqual(
      readdirSync(begun).filter((name) => name.includes('.new')),
      [],
    );
  });

  it('refuses an empty database and one without tables, which no first start leaves behind', async (t) => {
    for (const masterKey of [true, false]) {
      const lost = await makeUsed(t);
      if (masterKey) writeFileSync(join(lost.dataDir, 'master.key'), Buffer.from(MASTER_KEY).toString('hex'));
      truncateSync(lost.path);
      await assert.rejects(openServer(t, lost.dataDir), refuses('corrupt', lost.path, 'lost', 'backup', 'remove'));
      assert.equal(statSync(lost.path).size, 0);
    }
    const bare = makeDataDir(t);
    edit(databasePath(bare), 'PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL');
    await assert.rejects(openServer(t, bare), refuses('corrupt', databasePath(bare)));
  });

  it('refuses to make a database beside the log of one that is missing, which it would take for its own', async (t) => {
    const { dataDir, path } = await makeUsed(t);
    renameSync(path, `${path}.moved`);
    writeFileSync(`${path}-wal`, 'a log');
    await assert.rejects(openServer(t, dataDir), refuses('corrupt', path, '-wal', 'put it back'));
    assert.ok(!existsSync(path));
    assert.equal(readFileSync(`${path}-wal`, 'utf8'), 'a log');
    rmSync(`${path}-wal`);
    renameSync(`${path}.moved`, path);
    await openServer(t, dataDir);
  });

  it('refuses a backup beside the log of the database that it replaces, and changes neither', async (t) => {
    const dataDir = makeDataDir(t);
    const path = databasePath(dataDir);
    const scene = new Scene(await openServer(t, dataDir));
    const destination = await scene.createDestination();
    await scene.accept([destination]);
    const backup = join(makeDataDir(t), 'backup');
    backupSqlite({ dataDir, target: backup });
    await scene.accept([destination]);
    const log = readFileSync(`${path}-wal`);
    await scene.store.close();

    cpSync(backup, path);
    writeFileSync(`${path}-wal`, log);
    const says = refuses('corrupt', path, 'backup', 'remove', '-wal', '-shm');
    await assert.rejects(openServer(t, dataDir), says);
    assert.throws(() => assertStoreIsThere(dataDir), says);
    assert.deepEqual(readFileSync(path), readFileSync(backup));
    assert.deepEqual(readFileSync(`${path}-wal`), log);
    rmSync(`${path}-wal`);
    const restored = await openServer(t, dataDir);
    await restored.close();
  });

  it('tells what other users of the machine could do with its files', async (t) => {
    const { dataDir, path } = await makeUsed(t);
    const warnings: string[] = [];
    const open = async () => (await openServer(t, dataDir, { onWarning: (text) => warnings.push(text) })).close();
    await open();
    assert.deepEqual(warnings, []);
    writeFileSync(join(dataDir, 'master.key'), '', { mode: 0o640 });
    chmodSync(dataDir, 0o777);
    chmodSync(path, 0o604);
    await open();
    assert.equal(warnings.length, 3);
    assert.match(warnings[0]!, /has mode 0777.*chmod 700/);
    assert.match(warnings[1]!, /master\.key has mode 0640.*chmod 600/);
    assert.match(warnings[2]!, /postrider\.db has mode 0604.*chmod 600/);
  });

  it('says that a file system is read-only, and that there is no room', async (t) => {
    const disk = mountDisk(t, 1);
    if (typeof disk === 'string') return t.skip(disk);
    const used = await makeUsed(t);
    const [dataDir, fresh] = [join(disk.path, 'used'), join(disk.path, 'fresh')];
    cpSync(used.dataDir, dataDir, { recursive: true });
    mkdirSync(fresh);
    await disk.fillTo(0);
    const options = { databaseUrl: null, masterKey: null, random: systemRandom };
    await assert.rejects(openStore({ ...options, dataDir: fresh }), refuses('disk_full', fresh, 'start again'));
    await assert.rejects(openServer(t, fresh), refuses('disk_full', fresh, 'start again'));
    assert.deepEqual(
      readdirSync(fresh).filter((name) => name !== 'server.lock'),
      [],
      'and nothing is left by half',
    );
    await disk.makeRoom();
    execFileSync('mount', ['-o', 'remount,ro', disk.path]);
    for (const place of [dataDir, fresh, join(disk.path, 'new')]) {
      await assert.rejects(openServer(t, place), refuses('unwritable', place, 'read-only', 'DATA_DIR'));
      await assert.rejects(openStore({ ...options, dataDir: place }), StoreError);
    }
  });

  it('of a damaged page met later says corrupt, and the rest can still be read', async (t) => {
    const { dataDir, path, scene } = await makeUsed(t);
    const db = openDatabase(path, { readOnly: true });
    const page = readNumber(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'deliveries_by_environment'");
    db.close();
    const bytes = readFileSync(path);
    bytes.fill(0xee, (page - 1) * 4_096, page * 4_096);
    writeFileSync(path, bytes);
    const store = await openServer(t, dataDir);
    const damaged = new Scene(store);
    await assert.rejects(damaged.list(), refuses('corrupt', 'backup'));
    const [first] = (
      await store.listEvents({ environment: LIVE, type: null, since: null, until: null, before: null, limit: 1 })
    ).rows;
    assert.equal((await store.readEvent({ environment: LIVE, id: first!.id }))!.deliveries.length, 1);
    assert.ok(scene.now > 0);
  });
});

describe('the master key', () => {
  const load = (dataDir: string, configured: string | null = null) =>
    loadMasterKey({ dataDir, configured, random: systemRandom });

  it('is made at the first start, for its owner alone, and found again', (t) => {
    const dataDir = join(makeDataDir(t), 'new', 'dir');
    const key = load(dataDir);
    assert.equal(key.length, 32);
    assert.deepEqual(load(dataDir), key);
    assert.equal(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(dataDir), ['master.key'], 'nothing else is left');
    assert.notDeepEqual(load(makeDataDir(t)), key);
  });

  it('is accepted as hex and as base64, and as nothing else', (t) => {
    const dataDir = makeDataDir(t);
    const bytes = Buffer.from(systemRandom.bytes(32));
    for (const text of [bytes.toString('hex'), bytes.toString('hex').toUpperCase(), bytes.toString('base64')]) {
      assert.deepEqual(Buffer.from(load(dataDir, text)), bytes, text);
    }
    for (const text of [
      '',
      'secret',
      'a'.repeat(63),
      bytes.subarray(1).toString('base64'),
      `${bytes.toString('hex')}00`,
    ]) {
      assert.throws(() => load(dataDir, text), refuses('wrong_setting', 'MASTER_KEY', 'openssl'));
    }
    assert.deepEqual(readdirSync(dataDir), [], 'a configured key is not written down');
    writeFileSync(join(dataDir, 'master.key'), `${bytes.toString('base64')}\n`);
    assert.deepEqual(Buffer.from(load(dataDir)), bytes);
  });

  it('that is missing beside a database is not made anew', async (t) => {
    const dataDir = makeDataDir(t);
    const options = { databaseUrl: null, dataDir, masterKey: null, random: systemRandom };
    await (await openStore(options)).close();
    unlinkSync(join(dataDir, 'master.key'));
    await assert.rejects(openStore(options), refuses('wrong_master_key', 'master.key', 'restore'));
    assert.ok(!readdirSync(dataDir).includes('master.key'));
  });

  it('that cannot be written is refused with the path', (t) => {
    const file = join(makeDataDir(t), 'file');
    writeFileSync(file, '');
    assert.throws(() => load(join(file, 'data')), refuses('unwritable', file, 'DATA_DIR'));
  });

  it('keeps secrets out of the file', async (t) => {
    const dataDir = makeDataDir(t);
    const scene = new Scene(await openServer(t, dataDir));
    const destination = scene.destination({ headers: { 'X-Token': 'sesame-open-now' } });
    await scene.store.createDestination(destination, { max: 1 });
    await scene.store.close();
    const file = readFileSync(databasePath(dataDir));
    assert.ok(file.includes(destination.url), 'the row is there');
    assert.ok(!file.includes('sesame-open-now'));
    assert.ok(!file.includes(destination.signingKeys[0]!.secret));
  });
});

describe('a command beside the server', () => {
  const openTool = (t: TestContext, dataDir: string) => {
    const tool = openSqliteTool({ dataDir, masterKey: MASTER_KEY, clock: systemClock, random: systemRandom });
    atEnd(t, () => tool.close());
    return tool;
  };

  it('makes and revokes keys that the server sees', async (t) => {
    const dataDir = makeDataDir(t);
    const scene = new Scene(await openServer(t, dataDir));
    const tool = openTool(t, dataDir);
    const key = scene.apiKey();
    await tool.createApiKey(key);
    assert.deepEqual(await scene.store.readApiKeys(), [key]);
    assert.equal((await scene.store.readEnvironments())[0]!.authVersion, 1);
    assert.equal(await tool.revokeApiKey({ environments: [LIVE], id: key.id }), true);
    assert.deepEqual(await scene.store.readApiKeys(), []);
  });

  it('may come before the first server', async (t) => {
    const dataDir = join(makeDataDir(t), 'data');
    const tool = openTool(t, dataDir);
    const scene = new Scene(await openServer(t, dataDir));
    const key = scene.apiKey();
    await tool.createApiKey(key);
    assert.deepEqual(await scene.store.readApiKeys(), [key]);
  });

  it('is refused by a directory that another user has, which is not said to be empty', async (t) => {
    const { dataDir } = await makeUsed(t);
    chmodSync(dataDir, 0);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid!(NOBODY);
    try {
      assert.throws(() => assertStoreIsThere(dataDir), refuses('unwritable', dataDir, 'right'));
    } finally {
      if (isRoot) process.seteuid!(0);
      chmodSync(dataDir, 0o700);
    }
  });

  it('leaves an older database as it is while a server of that version has it', (t) => {
    const dataDir = makeDataDir(t);
    restoreSqlite(listLayouts('sqlite')[0]!, dataDir);
    const schema = (): number => {
      const db = openDatabase(databasePath(dataDir));
      try {
        return readNumber(db, 'PRAGMA user_version');
      } finally {
        db.close();
      }
    };
    const before = schema();
    const lock = takeServerLock(dataDir);
    try {
      assert.throws(() => openTool(t, dataDir), refuses('in_use', dataDir, `${process.pid}`, 'stop it'));
      assert.equal(schema(), before);
    } finally {
      lock.close();
    }
    openTool(t, dataDir);
    assert.ok(schema() > before);
  });
});
