// Backups: whole, openable, taken while the server writes, never half there.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { backupSqlite } from '../../src/store/sqlite/file/backup.ts';
import { databasePath } from '../../src/store/sqlite/file/data-dir.ts';
import { StoreError } from '../../src/store/store.ts';
import { mountDisk } from '../e2e/small-disk.ts';
import { makeDataDir, openServer } from './data-dirs.ts';
import { LIVE, Scene } from './scene.ts';

const unwritable = (error: unknown): boolean => error instanceof StoreError && error.code === 'unwritable';

describe('a backup', () => {
  it('taken beside a busy server opens elsewhere, secrets included, with the same master key', async (t) => {
    const [dataDir, copyDir] = [makeDataDir(t), makeDataDir(t)];
    const scene = new Scene(await openServer(t, dataDir));
    const destination = scene.destination({ headers: { 'X-Token': 'sesame' } });
    await scene.store.createDestination(destination, { max: 1 });
    const before = await scene.accept([destination.id]);
    const during = Array.from({ length: 20 }, () => scene.accept([destination.id]));
    backupSqlite({ dataDir, target: join(copyDir, 'copy') });
    await Promise.all(during);
    assert.deepEqual(readdirSync(copyDir), ['copy']);

    const restoredDir = makeDataDir(t);
    copyFileSync(join(copyDir, 'copy'), databasePath(restoredDir));
    const restored = new Scene(await openServer(t, restoredDir));
    const found = await restored.store.readDestination({ environment: LIVE, id: destination.id });
    assert.deepEqual(found, destination);
    const event = await restored.store.readEvent({ environment: LIVE, id: before.id });
    assert.deepEqual(
      event!.deliveries.map((delivery) => delivery.id),
      before.deliveries.map((delivery) => delivery.id),
    );
    await restored.accept([destination.id]);
  });

  it('never overwrites, and leaves nothing where it fails', async (t) => {
    const [dataDir, copyDir] = [makeDataDir(t), makeDataDir(t)];
    assert.throws(() => backupSqlite({ dataDir, target: join(copyDir, 'none') }), { code: 'missing' });
    writeFileSync(join(dataDir, 'postrider.db'), '');
    assert.throws(() => backupSqlite({ dataDir, target: join(copyDir, 'none') }), { code: 'corrupt' });
    rmSync(join(dataDir, 'postrider.db'));
    await openServer(t, dataDir);
    writeFileSync(join(copyDir, 'taken'), 'precious');
    assert.throws(() => backupSqlite({ dataDir, target: join(copyDir, 'taken') }), unwritable);
    assert.throws(() => backupSqlite({ dataDir, target: join(copyDir, 'no', 'such', 'dir') }), unwritable);
    mkdirSync(join(copyDir, 'dir'));
    assert.throws(() => backupSqlite({ dataDir, target: join(copyDir, 'dir') }), unwritable);
    assert.deepEqual(readdirSync(copyDir).sort(), ['dir', 'taken']);
  });

  it('says of a disk that is full that it has no room for the copy, and leaves nothing there', async (t) => {
    const disk = mountDisk(t, 1);
    if (typeof disk === 'string') return t.skip(disk);
    const [dataDir, target] = [makeDataDir(t), join(disk.path, 'copy')];
    await openServer(t, dataDir);
    await disk.fillTo(0);
    const before = readdirSync(disk.path);
    assert.throws(() => backupSqlite({ dataDir, target }), {
      code: 'disk_full',
      message: /no room for .*\/copy: free/,
    });
    assert.deepEqual(readdirSync(disk.path), before);
  });
});
