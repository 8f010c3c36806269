// One PostgreSQL for all files of a run, for tests that neither stop it nor ask what survives that. The runner's
// process loads this file as its global setup (scripts/test), and starts the server when the first test file asks.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { CITUS_URL } from './citus.ts';
import { connectTo, startPostgres, type OwnPostgres, type PostgresServer } from './server.ts';

/** Where the runner's process tells the port of the server. */
const ASK_AT = 'TEST_POSTGRES_ASK_AT';
/** A later `-c` wins: many files at once have more connections than one. */
const SETTINGS = ['fsync=off', 'max_connections=400', 'shared_buffers=128MB'];

let listener: Server | undefined;
let started: Promise<OwnPostgres> | undefined;

export async function globalSetup(): Promise<void> {
  listener = createServer((socket) => {
    socket.on('error', () => {});
    started ??= startPostgres(SETTINGS);
    started.then(
      ({ port }) => socket.end(String(port)),
      (error: Error) => socket.end(error.message),
    );
  });
  listener.listen(0, '127.0.0.1').unref();
  await once(listener, 'listening');
  process.env[ASK_AT] = String((listener.address() as AddressInfo).port);
}

export async function globalTeardown(): Promise<void> {
  listener?.close();
  await (await started)?.stop();
}

/** The run's; a server of the file's own where node runs it without a runner, or for a Citus cluster. */
export async function sharedPostgres(): Promise<PostgresServer> {
  const askAt = process.env[ASK_AT];
  if (askAt === undefined || CITUS_URL !== undefined) return startPostgres(SETTINGS);
  const server = connectTo(await readPort(Number(askAt)));
  const made = new Set<string>();
  const drop = async (database: string): Promise<void> => {
    await server.drop(database);
    made.delete(database);
  };
  return {
    ...server,
    async create(database, template) {
      made.add(database);
      await server.create(database, template);
    },
    drop,
    async stop() {
      for (const database of made) await drop(database);
    },
  };
}

async function readPort(askAt: number): Promise<number> {
  let answer = '';
  for await (const text of connect(askAt, '127.0.0.1').setEncoding('utf8')) answer += String(text);
  if (!/^\d+$/.test(answer)) throw new Error(`the run's PostgreSQL did not start: ${answer}`);
  return Number(answer);
}
