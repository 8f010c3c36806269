// Builds the dashboard beside the service, where it is missing or its sources have changed: in processes of the lowest
// priority, one build of a folder at a time (scripts/ensure-installed has the lock). The service needs none of it, and
// notices when it is done.
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import type { Log } from '../runtime/log.ts';

const LINES_KEPT = 10;
const LINE_LENGTH_MAX = 400;

/** `script`: builds, and says what it does on standard error. It ends with this process, and does not keep it. */
export function buildDashboard({ script, log }: { script: string; log: Log }): void {
  // A group of its own, so that what the script has started ends with it.
  const child = spawn(script, ['--dashboard'], { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  const { pid } = child;
  if (pid === undefined) {
    child.once('error', ({ message }) => warn(log, [message]));
    return;
  }
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line.slice(0, LINE_LENGTH_MAX));
    if (said.length > LINES_KEPT) said.shift();
  });
  const stop = (): void => unlessGone(() => process.kill(-pid, 'SIGTERM'));
  process.once('exit', stop);
  child.once('close', (code) => {
    process.off('exit', stop);
    if (code !== 0) warn(log, said);
    else if (said.length > 0) log.info('the dashboard is built');
  });
  unlessGone(() => setPriority(pid, constants.priority.PRIORITY_LOW));
  child.unref();
  (child.stderr as Socket).unref();
}

function warn(log: Log, said: readonly string[]): void {
  const advice = 'Try npm run build:dashboard, or turn it off with DASHBOARD=off';
  log.warn({ reason: said.join('\n') }, `the dashboard was not built; all else works. ${advice}`);
}

/** A process that has just ended, or a system that does not let us, is no reason for anything to fail. */
function unlessGone(act: () => void): void {
  try {
    act();
  } catch {
    // Nothing is left to be done about it.
  }
}
