// A transactional outbox: publishes what an application inserts into a table of its own database.
import { UsageError, VERSION } from '../config.ts';
import { systemClock } from '../runtime/clock.ts';
import { systemRandom } from '../runtime/random.ts';
import { formatTime } from '../model/time.ts';
import { BATCH_EVENTS_MAX } from '../model/event.ts';
import { OutboxError } from '../relay/outbox-table.ts';
import { connect } from '../relay/publish.ts';
import { Denied } from '../relay/publishing.ts';
import { GaveUp, Relay, type News, type RelayOptions, type Side } from '../relay/relay.ts';
import { ID_TYPES, isTableName, printSchema, type IdType } from '../relay/schema.ts';
import { explain } from '../relay/source.ts';
import { nameDatabase, readDatabaseAddress } from '../store/postgres/wire/database-address.ts';
import { timeOfDay } from './api/cells.ts';
import { CONNECTION_FLAGS, readConnection } from './api/connection.ts';
import { databaseUrlOf, integerFlag, integerOf, type Command, type CommandLine } from './command.ts';
import { nextStopSignal } from './end.ts';
import { OutputError, print, sentences, shownJson, tell } from './output.ts';
import { printable } from './terminal.ts';

const TABLE_DEFAULT = 'outbox';
const BATCH_SIZE = { min: 1, max: BATCH_EVENTS_MAX, fallback: 500 };
const PROGRESS_INTERVAL_MS = 10_000;
/** Of rows that are set aside together. */
const REFUSED_SHOWN_MAX = 5;

export const relayCommand: Command = {
  name: 'relay',
  summary: 'Publish what your transactions insert into an outbox table',
  usage: [
    'relay --source postgres://… [--table NAME] [--keep] [flags]',
    'relay --print-schema [--table NAME] [--id-type TYPE]',
  ],
  examples: ['relay --print-schema > outbox.sql', 'relay --source postgres://shop@db.internal:5432/shop --keep'],
  flags: {
    source: { type: 'string', meaning: 'database that the table is in; TLS as in DATABASE_URL', value: 'URL' },
    table: { type: 'string', meaning: 'the outbox', value: 'NAME', default: TABLE_DEFAULT },
    ...CONNECTION_FLAGS,
    keep: { type: 'boolean', meaning: 'mark rows that are published (published_at) instead of deleting them' },
    once: { type: 'boolean', meaning: 'publish what is there and end; exit code 1 if nothing goes on for a minute' },
    'batch-size': integerFlag('rows of one request', BATCH_SIZE),
    'print-schema': { type: 'boolean', meaning: 'print the SQL that makes the table, and end' },
    'id-type': { type: 'string', meaning: 'of that SQL', value: 'TYPE', options: ID_TYPES, default: 'uuid' },
  },
  run: relay,
};

async function relay(line: CommandLine): Promise<number> {
  const table = line.textOf('table') ?? TABLE_DEFAULT;
  if (!isTableName(table)) throw new UsageError(`--table: "${table}" is not of the form outbox or schema.outbox`);
  if (line.has('print-schema')) {
    await print(printSchema(table, (line.textOf('id-type') ?? 'uuid') as IdType));
    return 0;
  }
  const options = readOptions(line, table);
  const teller = createTeller(options, line.has('json'));
  const running = new Relay({ ...options, onNews: (news) => teller.hear(news) });
  // Nobody may be reading, or the disk of the log be full; that is no reason to stop publishing.
  process.stdout.on('error', () => undefined);
  void nextStopSignal().then(() => running.stop());
  try {
    await running.run();
    return 0;
  } catch (error) {
    tell(`postrider: ${explainEnd(error, options)}`);
    return 1;
  } finally {
    teller.end();
  }
}

// ── Flags ──

type Options = Omit<RelayOptions, 'onNews'> & { sourceName: string; url: string };

function readOptions(line: CommandLine, table: string): Options {
  const source = databaseUrlOf(line, 'source');
  if (source === null) throw new UsageError('name the database that the outbox is in: --source postgres://…');
  const { url, key } = readConnection(line);
  return {
    source: readDatabaseAddress(source, '--source'),
    sourceName: nameDatabase(source),
    table,
    service: connect({ url, key, userAgent: `Postrider-relay/${VERSION}` }),
    url,
    isKept: line.has('keep'),
    isOnce: line.has('once'),
    batchSize: integerOf(line, 'batch-size', BATCH_SIZE),
    clock: systemClock,
    random: systemRandom,
  };
}

// ── What it says ──

/** Throws on what is no failure of the surroundings. */
function explainEnd(error: unknown, { sourceName }: Options): string {
  if (error instanceof Denied) {
    return `the service refuses the key (${error.message}). Give one with the scope publish; nothing was set aside`;
  }
  if (error instanceof OutboxError || error instanceof GaveUp) return error.message;
  if (error instanceof OutputError || !(error instanceof Error) || !('severity' in error)) throw error;
  return `the database ${sourceName} refuses: ${explain(error)}`;
}

const SIDES: Record<Side, string> = { service: 'the service', source: 'the database' };

function createTeller({ sourceName, url }: Options, isJson: boolean) {
  const counts = { published: 0, refused: 0 };
  const say = (event: string, facts: object, text: string): void => {
    const now = systemClock.now();
    const shown = isJson
      ? shownJson({ event, at: formatTime(now), ...facts })
      : sentences(`${timeOfDay(now)}  ${printable(text)}`, process.stdout);
    process.stdout.write(`${shown}\n`);
  };
  const sum = (): string => `${counts.published} published, ${counts.refused} set aside`;
  let told = { at: systemClock.monotonic(), published: 0, refused: 0 };
  const tellProgress = (): void => {
    const now = systemClock.monotonic();
    const published = counts.published - told.published;
    const perSecond = Math.round((published * 1_000) / (now - told.at));
    if (published + counts.refused - told.refused > 0) {
      say('progress', { ...counts, per_second: perSecond }, `${sum()} (${perSecond}/s)`);
    }
    told = { at: now, ...counts };
    timer = systemClock.setTimer(tellProgress, PROGRESS_INTERVAL_MS);
  };
  let timer = systemClock.setTimer(tellProgress, PROGRESS_INTERVAL_MS);
  const hearRefused = (refused: Extract<News, { kind: 'settled' }>['refused']): void => {
    for (const [id, error] of [...refused].slice(0, REFUSED_SHOWN_MAX)) {
      say('refused', { id, error }, `set aside ${id}: ${error.status ?? ''} ${error.code}: ${error.message}`);
    }
    const more = refused.size - REFUSED_SHOWN_MAX;
    if (more > 0) say('refused_more', { count: more }, `set aside ${more} more: refused_at and error tell`);
  };
  return {
    hear(news: News): void {
      if (news.kind === 'settled') {
        counts.published += news.published;
        counts.refused += news.refused.size;
        hearRefused(news.refused);
      } else if (news.kind === 'publishing') {
        const { table } = news;
        say('publishing', { table, source: sourceName }, `publishing ${table} of ${sourceName} to ${url}`);
      } else if (news.kind === 'standby') {
        say('standby', {}, 'another relay publishes this table: standing by');
      } else if (news.kind === 'recovered') say('recovered', { with: news.with }, `${SIDES[news.with]} is back`);
      else {
        const { with: side, message, pauseMs } = news;
        const wait = Math.ceil(pauseMs / 1_000);
        const text = `${SIDES[side]}: ${message}; trying again in ${wait} s`;
        say('trouble', { with: side, message, retry_in_ms: Math.round(pauseMs) }, text);
      }
    },
    end(): void {
      timer.cancel();
      say('ended', { ...counts }, sum());
    },
  };
}
