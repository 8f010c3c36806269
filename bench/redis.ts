// The baseline's Redis: `redis-server` from the PATH, on a port of its own, with everything written to its log.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { endWithBench, makeFolder } from './service.ts';

/** `always`: a command is answered after its fsync, as a commit of PostgreSQL is. `everysec` is what is usual. */
export type Fsync = 'always' | 'everysec';

export type Redis = { port: number; pid: number; stop: () => Promise<void> };

export function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export async function startRedis(fsync: Fsync): Promise<Redis> {
  const folder = makeFolder('redis');
  const port = await findFreePort();
  const settings = { bind: '127.0.0.1', port, dir: folder.path, save: '', appendonly: 'yes', appendfsync: fsync };
  const given = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn('redis-server', given, { stdio: ['ignore', 'pipe', 'inherit'] });
  endWithBench(child);
  const exited = once(child, 'exit');
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('redis-server ended at once')));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve();
    });
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
    folder.remove();
  };
  return { port, pid: child.pid!, stop };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
