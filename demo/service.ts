// The service as its users run it: `postrider serve`, a process of its own, on a data directory of its own.
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { flagOf, SETTINGS } from '../src/config.ts';
import { delay, systemClock } from '../src/runtime/clock.ts';
import { waitFor } from './wait.ts';

export type Service = {
  /** Starts it, again after a stop or a kill, always on a free port; with its dashboard where that is looked at. */
  start(purpose?: 'to look at'): Promise<Started>;
  url(): string;
  /** kill -9: no goodbye. Resolves when the process is gone; at once if there is none. */
  kill(): Promise<void>;
  /** SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGTERM, so that its log comes out, but no patience: resolves after a second at the latest. */
  letSpeak(): Promise<void>;
  /** Kills it for good: whatever step is still under way cannot start it again. */
  dispose(): void;
  /** The last lines that it wrote. */
  logTail(): readonly string[];
};

export type Started = { url: string; keys: { mode: string; key: string }[]; signInLink: string | null; pid: number };

type Running = { child: ChildProcess; url: string; ended: Promise<void>; isToEnd: boolean };

const LAST_WORDS_MS_MAX = 1_000;
const LOG_LINES_KEPT = 20;
const LOG_LINE_LENGTH_MAX = 400;
/** Its receivers are on this machine, which test mode reaches only if told so. */
export const TEST_SUBNETS = '127.0.0.0/8';

/** `onEnd`: the process ended though nobody asked it to. */
export function createService(dataDir: string, onEnd: (error: Error) => void): Service {
  const tail: string[] = [];
  let running: Running | null = null;
  let isDisposed = false;

  const note = (line: string): void => {
    tail.push(line.slice(0, LOG_LINE_LENGTH_MAX));
    if (tail.length > LOG_LINES_KEPT) tail.shift();
  };

  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (running === null) return null;
    const { child, ended } = running;
    running.isToEnd = true;
    child.kill(signal);
    await waitFor(`the service to end after ${signal}`, ended);
    running = null;
    return child.exitCode;
  };

  return {
    async start(purpose) {
      if (isDisposed) throw new Error('the tour has ended');
      const child = spawnServe(dataDir, purpose === 'to look at');
      const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
      const current: Running = { child, url: '', ended, isToEnd: false };
      running = current;
      const started = Promise.withResolvers<Omit<Started, 'pid'>>();
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          const announcement = readAnnouncement(line);
          if (announcement === null) note(line);
          else started.resolve(announcement);
        });
      }
      child.once('error', onEnd);
      child.once('close', (code, signal) => {
        if (!current.isToEnd) onEnd(new Error(`the service ended by itself (${signal ?? `exit code ${code}`})`));
      });
      const { url, keys, signInLink } = await waitFor('the service to start', started.promise);
      current.url = url;
      return { url, keys, signInLink, pid: child.pid! };
    },
    url: () => running?.url ?? 'http://127.0.0.1',
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    async letSpeak() {
      if (running === null) return;
      running.isToEnd = true;
      running.child.kill('SIGTERM');
      await Promise.race([running.ended, delay(systemClock, LAST_WORDS_MS_MAX)]);
    },
    dispose() {
      isDisposed = true;
      if (running === null) return;
      running.isToEnd = true;
      running.child.kill('SIGKILL');
    },
    logTail: () => tail,
  };
}

/** Not by `bin/postrider`: the program that runs is known already, and so is the Node that it runs on. */
function spawnServe(dataDir: string, hasDashboard: boolean) {
  const own: Record<string, string> = { PORT: '0', DATA_DIR: dataDir, TEST_SUBNETS };
  own['DASHBOARD'] = hasDashboard ? 'on' : 'off';
  // Every setting by flag: those of a service that runs here in earnest (environment, file) are not for this one.
  const flags = Object.entries(SETTINGS).map(([name, setting]) => `${flagOf(name)}=${own[name] ?? setting.default}`);
  const look = hasDashboard ? ['--sign-in-link', '--build-dashboard'] : [];
  return spawn(process.execPath, [process.argv[1]!, 'serve', '--json', ...look, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

type Announcement = Pick<Started, 'url' | 'keys'> & { sign_in_link?: string };

function readAnnouncement(line: string): Omit<Started, 'pid'> | null {
  if (!line.startsWith('{"event":"started"')) return null;
  const { url, keys, sign_in_link: signInLink = null } = JSON.parse(line) as Announcement;
  return { url, keys, signInLink };
}
