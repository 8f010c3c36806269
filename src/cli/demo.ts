// A tour of the real service on this machine: starts it as a process of its own, plays its users and its receivers,
// and checks every claim that it prints. Leaves nothing behind, however it ends.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { UsageError } from '../config.ts';
import { systemClock } from '../runtime/clock.ts';
import { StoreError } from '../store/store.ts';
import { JSON_FLAG, type Command } from './command.ts';
import { NEXT_STEPS } from '../../demo/next-steps.ts';
import { createTextReport, silentReport, type Report } from '../../demo/report.ts';
import { createService } from '../../demo/service.ts';
import { STEPS } from '../../demo/steps.ts';
import { sendOn, startAgain } from '../../demo/staying.ts';
import { Tour } from '../../demo/tour.ts';

export const demoCommand: Command = {
  name: 'demo',
  summary: 'Take a tour: the real service, receivers that fail and recover, every claim checked',
  usage: ['demo [--json]', 'demo --keep'],
  examples: ['demo', 'demo --keep'],
  flags: {
    json: { ...JSON_FLAG, meaning: 'print the summary only, as JSON' },
    keep: { type: 'boolean', meaning: 'go on afterwards, with a link to the dashboard, until you end it' },
  },
  async run(line) {
    const isJson = line.has('json');
    const keeps = line.has('keep');
    if (isJson && keeps) throw new UsageError('--keep is for people, --json for programs: leave one of them out');
    if (!isJson) process.stdout.write('Postrider demo: the real service and its receivers, in about ten seconds.\n');
    const result = await takeTour(isJson ? silentReport : createTextReport(process.stdout), keeps);
    if (isJson) process.stdout.write(`${JSON.stringify(summarise(result))}\n`);
    else if (!keeps || result.failure !== null) process.stdout.write(describe(result));
    if (result.failure !== null) process.stderr.write(explain(result.failure));
    return result.failure === null ? 0 : 1;
  },
};

/** The tour was ended from outside; nothing says that anything is wrong. */
class Interruption extends Error {}

type Failure = { step: string; error: Error; log: readonly string[] };

type Result = {
  counts: { eventsSent: number; requestsReceived: number; verified: number; retries: number };
  durationMs: number;
  failure: Failure | null;
};

/** Many times what it takes, for machines that are busy with other things. */
const TOUR_MS_MAX = 120_000;

async function takeTour(report: Report, keeps: boolean): Promise<Result> {
  const startedAt = systemClock.monotonic();
  const trouble = Promise.withResolvers<never>();
  const dataDir = makeDataDir();
  const service = createService(dataDir, trouble.reject);
  const tour = new Tour({ service, report, onFault: trouble.reject });
  const leaveNothing = (): void => {
    service.dispose();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  // For the ends that run no `finally`, such as an exception that nobody caught.
  process.once('exit', leaveNothing);
  const { stopWatching, takeTime } = watchForEnd(trouble.reject);
  let failure: Failure | null = null;
  let isKept = false;
  const result = (): Result => {
    return { counts: countAll(tour), durationMs: Math.round(systemClock.monotonic() - startedAt), failure };
  };
  try {
    await Promise.race([walk(tour), trouble.promise]);
    if (keeps) {
      takeTime();
      process.stdout.write(describe(result(), await Promise.race([startAgain(tour), trouble.promise])));
      isKept = true;
      await Promise.race([sendOn(tour), trouble.promise]);
    }
  } catch (error) {
    const isInterrupted = error instanceof Interruption;
    // A service that is told to stop ends its build of the dashboard too.
    if (isKept || !isInterrupted) await service.letSpeak();
    if (isKept && isInterrupted) return result();
    failure = { step: tour.step, error: error as Error, log: isInterrupted ? [] : [...service.logTail()] };
  } finally {
    service.dispose();
    tour.close();
    await service.kill();
    leaveNothing();
    process.off('exit', leaveNothing);
    stopWatching();
  }
  return result();
}

function makeDataDir(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'postrider-demo-'));
  } catch (error) {
    throw new StoreError('unwritable', `cannot make a temporary folder: ${(error as Error).message}`);
  }
}

async function walk(tour: Tour): Promise<void> {
  for (const [index, { title, run }] of STEPS.entries()) {
    tour.begin(index + 1, title);
    await run(tour);
  }
}

/** What may end a tour from outside: a signal, a reader who leaves (`postrider demo | head`), its time. */
function watchForEnd(end: (error: Error) => void): { stopWatching: () => void; takeTime: () => void } {
  const onSignal = (signal: string): void => end(new Interruption(`ended by ${signal}`));
  const onUnread = (): void => end(new Interruption('nobody reads the output any more'));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, onSignal);
  process.stdout.on('error', onUnread);
  const timer = systemClock.setTimer(() => end(new Error(`not done after ${TOUR_MS_MAX / 1000} s`)), TOUR_MS_MAX);
  const stopWatching = (): void => {
    timer.cancel();
    for (const signal of signals) process.off(signal, onSignal);
  };
  return { stopWatching, takeTime: () => timer.cancel() };
}

function countAll(tour: Tour): Result['counts'] {
  return {
    eventsSent: tour.eventCount,
    requestsReceived: tour.receivers.reduce((sum, { requestCount }) => sum + requestCount, 0),
    verified: tour.receivers.reduce((sum, { requests }) => sum + requests.length, 0),
    retries: tour.retryCount,
  };
}

// ── What is printed at the end ──

function summarise({ counts, durationMs, failure }: Result): object {
  return {
    ok: failure === null,
    events_sent: counts.eventsSent,
    requests_received: counts.requestsReceived,
    verified: counts.verified,
    retries: counts.retries,
    duration_ms: durationMs,
    failed_step: failure?.step ?? null,
    error: failure?.error.message ?? null,
  };
}

/** `next`: what a person may do now. */
function describe({ counts, durationMs, failure }: Result, next: string = NEXT_STEPS): string {
  if (failure !== null) return `\n${styleText('red', `✘ ${failure.step}: failed`)}\n`;
  return [
    '',
    styleText('bold', 'Everything arrived, and every signature was verified.'),
    '',
    `    events sent        ${counts.eventsSent}`,
    `    requests received  ${counts.requestsReceived}`,
    `    verified           ${counts.verified}`,
    `    retries            ${counts.retries}`,
    `    time               ${durationMs} ms`,
    '',
    next,
  ].join('\n');
}

function explain({ step, error, log }: Failure): string {
  const causes = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) causes.push(cause.message);
  return [
    `postrider: the demo failed at "${step}": ${causes.join(': ')}`,
    ...(log.length === 0 ? [] : ['The end of the service’s log:', ...log.map((line) => `  ${line}`)]),
    '',
  ].join('\n');
}
