// Serves until it is told to stop. What it prints at the first start is a newcomer's first hour.
import { startApp } from '../app.ts';
import type { App } from '../app.ts';
import { SETTINGS, VERSION } from '../config.ts';
import type { SettingName, Settings } from '../config.ts';
import type { Mode } from '../model/api-key.ts';
import { DEFAULT_SCOPES } from '../model/api-key.ts';
import { systemClock } from '../runtime/clock.ts';
import { createLog } from '../runtime/log.ts';
import type { ProcessLog } from '../runtime/log.ts';
import { openStore, readMasterKey } from '../store/open.ts';
import { StoreError } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import { JSON_FLAG } from './command.ts';
import type { Command, CommandLine } from './command.ts';
import { createKey } from './keys.ts';
import { welcome } from './welcome.ts';
import { storeOptions } from './with-store.ts';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Run the service',
  usage: ['serve [--port 8383] [--data-dir ./data] …'],
  settings: Object.keys(SETTINGS) as SettingName[],
  flags: { json: { ...JSON_FLAG, meaning: 'print the address and new keys as one line of JSON' } },
  wordsMax: 0,
  run: serve,
};

export type NewKey = { mode: Mode; key: string };

async function serve(line: CommandLine): Promise<number> {
  const { settings, warnings } = line.settings();
  for (const warning of warnings) process.stderr.write(`postrider: ${warning}\n`);
  const processLog = createLog(settings.LOG_LEVEL, systemClock);
  const { log } = processLog;
  endOnFault(processLog);
  const options = storeOptions(settings);
  const store = await openStore({ ...options, onFatal: (error) => void endWith(processLog, error) });
  // From before the first attempt goes out: a signal that comes while it starts is a stop like any other.
  const stopSignal = nextStopSignal();
  let app: App;
  try {
    const keys = await makeFirstKeys(store);
    app = await startApp({
      settings,
      log,
      store,
      masterKey: await readMasterKey(options),
    });
    // Nobody may be reading; that is no reason to stop serving.
    process.stdout.on('error', () => undefined);
    process.stdout.write(announce(app, keys, { settings, isJson: line.has('json') }));
  } catch (error) {
    await store.close();
    throw explainListening(error, settings);
  }
  log.info({ url: app.baseUrl, version: VERSION, data_dir: settings.DATA_DIR }, 'listening');
  const signal = await stopSignal;
  log.info({ signal }, 'stopping: what is on the wire may finish');
  await app.stop();
  log.info('stopped');
  await processLog.flush();
  return 0;
}

/**
 * On a store that never had a key: one for test mode, and one for live mode if a person is looking. A log is no
 * place for a live key.
 */
async function makeFirstKeys(store: Store): Promise<NewKey[]> {
  const environments = await store.readEnvironments();
  if (environments.some(({ authVersion }) => authVersion > 0)) return [];
  const modes: Mode[] = process.stdout.isTTY ? ['test', 'live'] : ['test'];
  const keys: NewKey[] = [];
  try {
    for (const mode of modes) {
      const { secret } = await createKey(store, { mode, name: 'first', scopes: DEFAULT_SCOPES, expiresAt: null });
      keys.push({ mode, key: secret });
    }
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'disk_full') throw error;
    process.stderr.write(`postrider: no first key was made: ${error.message}. Then: postrider keys create\n`);
  }
  return keys;
}

function announce(app: App, keys: NewKey[], { settings, isJson }: { settings: Settings; isJson: boolean }): string {
  if (isJson) return `${JSON.stringify({ event: 'started', url: app.baseUrl, keys })}\n`;
  return welcome({ baseUrl: app.baseUrl, keys, testSubnets: settings.TEST_SUBNETS });
}

/** Resolves with the first signal; from then on a second one ends the process at once. */
function nextStopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        for (const again of ['SIGTERM', 'SIGINT'] as const) process.on(again, () => process.exit(1));
        resolve(signal);
      });
    }
  });
}

/** A fault nobody handled leaves the state of this process in doubt. What is stored is not: start again. */
function endOnFault(processLog: ProcessLog): void {
  process.once('uncaughtException', (error) => void endWith(processLog, error));
  process.once('unhandledRejection', (error) => void endWith(processLog, error));
}

async function endWith(processLog: ProcessLog, error: unknown): Promise<void> {
  processLog.log.fatal({ err: error }, 'ending: a fault that cannot be handled; nothing accepted is lost, start again');
  await processLog.flush();
  process.exit(1);
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
