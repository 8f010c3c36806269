// Serves until it is told to stop. What it prints at the first start is a newcomer's first hour.
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { App } from '../app/app.ts';
import { SETTINGS, UsageError, VERSION, loadTraceSettings, type SettingName, type Settings } from '../config.ts';
import { DEFAULT_SCOPES, type Mode } from '../model/api-key.ts';
import type { NodeId } from '../model/id.ts';
import { systemClock } from '../runtime/clock.ts';
import { createLog, type Log, type ProcessLog } from '../runtime/log.ts';
import { keepTickShape } from '../runtime/next-tick.ts';
import { openStore, placeOf, readMasterKey } from '../store/open.ts';
import { StoreError, type Store } from '../store/store.ts';
import { JSON_FLAG, type Command, type CommandLine } from './command.ts';
import { buildDashboard } from './dashboard-build.ts';
import { mintKey } from './keys/mint-key.ts';
import { tell } from './output.ts';
import { groupMembership, runProcessGroup, type Order } from './process-group.ts';
import { describeOpenings, welcome } from './welcome.ts';
import { storeOptions } from './with-store.ts';
import { nextCommand } from './next-command.ts';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Run the service',
  usage: ['serve [--port 8383] [--data-dir ./data] [flags]'],
  examples: [
    'serve',
    'serve --port 9000 --data-dir /var/lib/postrider',
    'serve --processes 4 --database-url postgres://postrider@db/postrider',
  ],
  settings: Object.keys(SETTINGS) as SettingName[],
  flags: {
    json: { ...JSON_FLAG, meaning: 'print the address and new keys as one line of JSON' },
    'sign-in-link': {
      type: 'boolean',
      meaning: 'print a link that signs in to the dashboard: once, in test mode, on this machine, for 10 minutes',
    },
    'build-dashboard': {
      type: 'boolean',
      meaning: 'build the dashboard in the background where it is missing or its sources have changed',
    },
  },
  run: serve,
};

const BUILD_SCRIPT = fileURLToPath(new URL('../../scripts/ensure-installed', import.meta.url));

type NewKey = { mode: Mode; key: string };

/** What the service says of itself when it serves; `keys` were just made, and are told this once. */
type Started = { url: string; node: NodeId; keys: NewKey[]; signInLink: string | null };

type Surroundings = {
  /** Called back when to stop, and when to end at once. */
  onStopOrder: (take: (order: Order) => void) => void;
  tellStarted: (started: Started, log: Log) => unknown;
  /** Called back with nodes whose processes have ended for certain. */
  onDead: (take: (node: NodeId) => void) => void;
  /** A link is known to the process that made it: of several no one knows which is asked. */
  makesLink: boolean;
};

async function serve(line: CommandLine): Promise<number> {
  keepTickShape();
  const { settings, warnings } = line.settings();
  const member = groupMembership();
  if (member !== null) {
    try {
      const onStopOrder: Surroundings['onStopOrder'] = (take) => onGroupOrder(member.onStop, take);
      return await serveToTheEnd(settings, { ...member, onStopOrder, makesLink: false });
    } finally {
      member.leave();
    }
  }
  // Nobody may be reading, or the disk be full; that is no reason to stop serving.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  for (const warning of warnings) tell(`postrider: ${warning}`);
  const tellStarted = (started: Started, log: Log): void => {
    for (const opening of describeOpenings(settings)) tell(`postrider: ${opening}`);
    process.stdout.write(describeStart(started, { settings, isJson: line.has('json') }));
    if (line.has('build-dashboard') && settings.DASHBOARD === 'on') buildDashboard({ script: BUILD_SCRIPT, log });
  };
  if (settings.PROCESSES > 1) return serveTogether(settings, tellStarted);
  return serveToTheEnd(settings, {
    onStopOrder: onStopSignal,
    onDead: () => {},
    tellStarted,
    makesLink: line.has('sign-in-link'),
  });
}

async function serveTogether(settings: Settings, tellStarted: Surroundings['tellStarted']): Promise<number> {
  const { PROCESSES: count, DATABASE_URL: databaseUrl } = settings;
  if (databaseUrl === null) {
    throw new UsageError(
      `${count} processes need POSTRIDER_DATABASE_URL: the embedded store is one file, and one process owns it. ` +
        `Set it ("${nextCommand('copy')}" moves what there is to PostgreSQL), or leave --processes at 1`,
    );
  }
  const processLog = createLog(settings.LOG_LEVEL, systemClock, { isShared: true });
  const { log } = processLog;
  // Every process names the same port, one that starts later too.
  const port = await findPort(settings);
  const argv = [...process.argv.slice(2), '--port', String(port)];
  const onServing = (started: Started): void => void tellStarted(started, log);
  const code = await runProcessGroup({ count, argv, log, clock: systemClock, onServing }, onStopSignal);
  return end(processLog, code);
}

/** The port of the settings, or where that is 0 a free one. Throws StoreError if nothing can listen there. */
async function findPort(settings: Settings): Promise<number> {
  const server = createServer().listen(settings.PORT, settings.HOST);
  try {
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw explainListening(error, settings);
  } finally {
    server.close();
  }
}

async function serveToTheEnd(
  settings: Settings,
  { onStopOrder, onDead, tellStarted, makesLink }: Surroundings,
): Promise<number> {
  const processLog = createLog(settings.LOG_LEVEL, systemClock, { isShared: settings.PROCESSES > 1 });
  const { log } = processLog;
  const traces = loadTraceSettings();
  endOnFault(processLog);
  const options = storeOptions(settings);
  // Told when it serves: whoever started it reads the address first.
  const warnings: string[] = [];
  const store = await openStore({
    ...options,
    onWarning: (warning) => void warnings.push(warning),
    onFatal: (error) => void endWith(processLog, error),
  });
  // From before the first attempt goes out: a signal that comes while it starts is a stop like any other.
  const stopped = nextStopOrder(onStopOrder, processLog);
  let app: App;
  try {
    // The first keys are shown once, by a start that comes to an end. Of a group the parent has looked.
    if (settings.PROCESSES === 1) await findPort(settings);
    const keys = await makeFirstKeys(store);
    // Only here, as loading it takes six times what every other command of the program does.
    const { startApp } = await import('../app/app.ts');
    app = await startApp({
      settings,
      traces,
      log,
      store,
      masterKey: await readMasterKey(options),
    });
    onDead((node) => app.removeDead(node));
    const signInLink = makesLink ? app.makeSignInLink() : null;
    await tellStarted({ url: app.baseUrl, node: app.node, keys, signInLink }, log);
  } catch (error) {
    await store.close();
    throw explainListening(error, settings);
  }
  // Node keeps what it compiled when a process ends, which one that is killed does not: its next start would take twice
  // as long.
  flushCompileCache();
  log.info({ url: app.baseUrl, version: VERSION, ...(await placeOf(options)) }, 'listening');
  for (const warning of warnings) log.warn(warning);
  await stopped;
  log.info('stopping: what is on the wire may finish');
  await app.stop();
  log.info('stopped');
  return end(processLog, 0);
}

/**
 * On a store that never had a key: one for test mode, and one for live mode if a person is looking. A log is no
 * place for a live key.
 */
async function makeFirstKeys(store: Store): Promise<NewKey[]> {
  const environments = await store.readEnvironments();
  if (environments.some(({ authVersion }) => authVersion > 0)) return [];
  const modes: Mode[] = process.stdout.isTTY ? ['test', 'live'] : ['test'];
  const minted = modes.map((mode) =>
    mintKey(environments, { mode, name: 'first', scopes: DEFAULT_SCOPES, expiresAt: null }),
  );
  try {
    // Of nodes that start together one makes them.
    if (!(await store.createFirstApiKeys(minted.map(({ key }) => key)))) return [];
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'disk_full') throw error;
    tell(`postrider: no first key was made: ${error.message}. Then: ${nextCommand('keys create --mode test')}`);
    return [];
  }
  return minted.map(({ key, secret }) => ({ mode: key.mode, key: secret }));
}

function describeStart(
  { url, keys, signInLink }: Started,
  { settings, isJson }: { settings: Settings; isJson: boolean },
): string {
  if (!isJson) return welcome({ baseUrl: url, keys, signInLink, settings });
  const link = signInLink === null ? {} : { sign_in_link: signInLink };
  return `${JSON.stringify({ event: 'started', url, keys, ...link })}\n`;
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Of a process by itself: the first signal stops it, any after that ends it at once. */
function onStopSignal(take: (order: Order) => void): void {
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => {
      take('stop');
      for (const again of STOP_SIGNALS) process.on(again, () => take('end'));
    });
  }
}

// A terminal and systemd signal every process of a group, and the parent tells them too: so any number of signals is
// one stop, and the parent, who can tell a second from an echo of the first, ends whoever must end at once.
function onGroupOrder(onStop: (stop: () => void) => void, take: (order: Order) => void): void {
  for (const signal of STOP_SIGNALS) process.on(signal, () => take('stop'));
  onStop(() => take('stop'));
}

/** Resolves when it is time to stop. */
function nextStopOrder(onStopOrder: Surroundings['onStopOrder'], processLog: ProcessLog): Promise<void> {
  return new Promise((resolve) => onStopOrder((order) => (order === 'stop' ? resolve() : void end(processLog, 1))));
}

/** A fault nobody handled leaves the state of this process in doubt. What is stored is not: start again. */
function endOnFault(processLog: ProcessLog): void {
  process.once('uncaughtException', (error) => void endWith(processLog, error));
  process.once('unhandledRejection', (error) => void endWith(processLog, error));
}

async function endWith(processLog: ProcessLog, error: unknown): Promise<void> {
  processLog.log.fatal({ err: error }, 'ending: a fault that cannot be handled; nothing accepted is lost, start again');
  await end(processLog, 1);
}

/** Does not wait for Node to end by itself: output that nobody reads would keep the process. */
async function end(processLog: ProcessLog, code: number): Promise<never> {
  await processLog.flush();
  process.exit(code);
}

/** The errors of listening that an operator can do something about. */
function explainListening(error: unknown, settings: Settings): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  const address = `${settings.HOST}:${settings.PORT}`;
  if (code === 'EADDRINUSE') {
    return new StoreError('in_use', `${address} is in use by another program; stop it or choose another --port`);
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new StoreError('unavailable', `cannot listen on ${address} (${code}); choose another --host or --port`);
  }
  return error;
}
