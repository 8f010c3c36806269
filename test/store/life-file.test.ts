// What proves to a node that another one has ended on the same machine, and what does not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { holdLifeFile } from '../../src/store/life-file.ts';
import { formatId, type NodeId } from '../../src/model/id.ts';

const MODULE = new URL('../../src/store/life-file.ts', import.meta.url).href;
const DATABASE = 'postgres://postrider@db.internal/postrider';

describe('a life file', { skip: process.platform === 'linux' ? false : 'only on Linux' }, () => {
  let folder: string;
  let held: NonNullable<Awaited<ReturnType<typeof holdLifeFile>>>[];
  let ids = 0;
  const nextId = (): NodeId => formatId('nod', Buffer.alloc(16, ++ids));
  const hold = async (node: NodeId = nextId(), databaseUrl: string = DATABASE): Promise<NodeId[]> => {
    const life = (await holdLifeFile({ node, databaseUrl, folder }))!;
    held.push(life);
    return life.ended;
  };
  const nameOf = (node: NodeId): string => readdirSync(folder).find((name) => name.startsWith(node))!;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-life-'));
    held = [];
  });
  afterEach(() => {
    for (const life of held) life.close();
    rmSync(folder, { recursive: true });
  });

  /** A process that holds one, and is killed. */
  async function killed(node: NodeId): Promise<void> {
    const source = `import { holdLifeFile } from ${JSON.stringify(MODULE)};
      const [, node, databaseUrl, folder] = process.argv;
      globalThis.life = await holdLifeFile({ node, databaseUrl, folder });
      console.log('held');
      setInterval(() => {}, 60_000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', source, node, DATABASE, folder]);
    await once(child.stdout, 'data');
    assert.deepEqual(await hold(), [], 'it lives');
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  test('tells the next that its process was killed, once', async () => {
    const node = nextId();
    await killed(node);
    assert.deepEqual(await hold(), [node]);
    assert.deepEqual(await hold(), []);
  });

  test('says nothing of one that lives, in this process too', async () => {
    await hold();
    assert.deepEqual(await hold(), []);
  });

  test('goes when its node has left', async () => {
    const life = (await holdLifeFile({ node: nextId(), databaseUrl: DATABASE, folder }))!;
    life.close();
    assert.deepEqual(readdirSync(folder), []);
  });

  test('of another database is left to the nodes of that', async () => {
    const node = nextId();
    await killed(node);
    assert.deepEqual(await hold(nextId(), 'postgres://postrider@db.internal/staging'), []);
    assert.deepEqual(await hold(), [node]);
  });

  test('is no proof as a copy, which nobody holds while the node lives', async () => {
    const node = nextId();
    await hold(node);
    const name = nameOf(node);
    renameSync(join(folder, name), join(folder, 'original'));
    cpSync(join(folder, 'original'), join(folder, name));
    assert.deepEqual(await hold(), []);
  });

  test('is no proof after another boot: an image of the machine may have been started elsewhere', async () => {
    const node = nextId();
    await killed(node);
    const [id, digest, , number] = nameOf(node).split('.');
    renameSync(join(folder, nameOf(node)), join(folder, [id, digest, crypto.randomUUID(), number].join('.')));
    assert.deepEqual(await hold(), []);
  });

  test('is neither made nor believed where others could write', async () => {
    await killed(nextId());
    chmodSync(folder, 0o777);
    assert.equal(await holdLifeFile({ node: nextId(), databaseUrl: DATABASE, folder }), null);
  });

  test('is done without where it cannot be made', async () => {
    assert.equal(await holdLifeFile({ node: nextId(), databaseUrl: DATABASE, folder: '/proc/none' }), null);
  });
});
