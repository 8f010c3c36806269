// Every setting once: name, default, unit, meaning. Default < file < environment (POSTRIDER_…) < flag.
// The reference page is generated from this table; whatever is not in it is refused with a suggestion.
import { readFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { parseSubnet } from './attempt/guard.ts';
import { parseTraceSettings, type TraceSettings } from './tracing/settings.ts';

export const VERSION: string = packageJson.version;

/** A mistake in the settings or on the command line: exit code 2, and no stack. */
export class UsageError extends Error {}

type Setting<T> = {
  /** As text, the way a user would write it. */
  default: string;
  unit: string;
  /** What a flag's help calls the value. */
  value: string;
  meaning: string;
  /** All that it takes. */
  options?: readonly string[];
  /** Throws an Error whose message completes “NAME: …”. */
  parse: (text: string) => T;
  isSecret?: boolean;
};

const DAY_MS = 86_400_000;
const DURATION_UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS };

export const SETTINGS = {
  HOST: someText('127.0.0.1', 'address to listen on; 0.0.0.0 for all'),
  PORT: integer('8383', { min: 0, max: 65_535 }, 'TCP port to listen on; 0 picks a free one'),
  PROCESSES: integer(
    '1',
    { min: 1, max: 64 },
    'processes that serve the port together, each a node of its own; more than one needs DATABASE_URL',
  ),
  DATA_DIR: someText('./data', 'folder of the embedded store; serve makes it if missing, and one server has it alone'),
  DATABASE_URL: {
    ...setting('', {
      unit: 'URL',
      value: 'URL',
      meaning:
        'postgres://user:password@host:5432/database: PostgreSQL 15+ instead of the embedded store; needs MASTER_KEY',
      parse: databaseUrl,
    }),
    isSecret: true,
  },
  MASTER_KEY: {
    ...text(
      '',
      '32 bytes as base64 or 64 hex digits: encrypts secrets at rest. Empty, without DATABASE_URL: DATA_DIR/master.key',
    ),
    isSecret: true,
  },
  NODE_NAME: text('', 'what this node is called in GET /v1/cluster; empty: the name of the machine'),
  NODE_LEASE: duration(
    '10s',
    { minMs: 1_000, maxMs: 600_000 },
    'on PostgreSQL: other nodes take over from one that has been silent for so long',
  ),
  LOG_LEVEL: choice('info', ['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'least severe log lines to write'),
  TEST_SUBNETS: subnets('', 'private subnets (CIDR, comma-separated) that destinations in test mode may be in'),
  ALLOW_SUBNETS: subnets('', 'private subnets that destinations in both modes may be in; live mode still needs HTTPS'),
  REACHABILITY_CHECK: choice('on', ['on', 'off'], 'connect to the URL of a new destination before it is created'),
  REACHABILITY_PER_MINUTE: integer('60', { min: 1, max: 10_000 }, 'such connections per environment and minute'),
  MAX_DESTINATIONS: integer('10000', { min: 1, max: 1_000_000 }, 'destinations in an environment'),
  MAX_SUBSCRIPTIONS: integer('1000000', { min: 1, max: 10_000_000 }, 'subscriptions in an environment'),
  MAX_FANOUT: integer(
    '10000',
    { min: 1, max: 100_000 },
    'deliveries that one event, or one replay of it, may make; what would make more is refused',
  ),
  MAX_BACKLOG: integer(
    '10000000',
    { min: 1, max: 1_000_000_000 },
    'unfinished deliveries of one destination; more are born dead; of several nodes each counts its own, and all of ' +
      'them once a minute',
  ),
  MAX_IN_FLIGHT: integer('2048', { min: 4, max: 20_000 }, 'attempts on the wire at once, over all destinations'),
  BODY_RETENTION: duration('30d', { minMs: 1_000, maxMs: 3_650 * DAY_MS }, 'bodies of events are erased after this'),
  ROW_RETENTION: duration(
    '90d',
    { minMs: 1_000, maxMs: 3_650 * DAY_MS },
    'events and deliveries are removed after this',
  ),
  FAILING_AFTER: duration(
    '5d',
    { minMs: 0, maxMs: 365 * DAY_MS },
    'a destination without success for so long is paused; 0 never',
  ),
  DRAIN_TIMEOUT: duration('20s', { minMs: 0, maxMs: 600_000 }, 'wait for what is on the wire after SIGTERM'),
  DISK_RESERVE: size('256MB', 'free disk space kept for results: below it new events are refused'),
  PAYLOAD_CACHE: size('64MB', 'memory for bodies that are about to be sent'),
  // `128`, meant as megabytes, would refuse every request, by a service that says it is ready.
  REQUEST_BUFFER: size(
    '128MB',
    'memory for requests that are being read and answers that are not yet taken; more are refused with 503, ' +
      'as are the longest batches below 8MB',
    '1MB',
  ),
  DASHBOARD: choice('on', ['on', 'off'], 'serve the dashboard at /'),
  DASHBOARD_HOSTS: setting('', {
    unit: 'list of names',
    value: 'LIST',
    meaning: 'names that the dashboard is reached under (comma-separated); addresses and localhost need none',
    parse: hostNames,
  }),
  METRICS_PER_DESTINATION: integer(
    '0',
    { min: 0, max: 1_000 },
    'destinations, those with the most unfinished deliveries, of which GET /metrics tells each under its id',
  ),
  METRICS_TOKEN: {
    ...setting('', {
      unit: 'text',
      value: 'TEXT',
      meaning: 'bearer token that GET /metrics asks for; empty: open',
      parse: bearerToken,
    }),
    isSecret: true,
  },
} as const satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
export type Settings = { [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> };

const PREFIX = 'POSTRIDER_';
/** Not settings themselves: where the file is, and what commands need that ask a service. */
const OTHER_VARIABLES = new Set(['POSTRIDER_CONFIG', 'POSTRIDER_URL', 'POSTRIDER_API_KEY']);
/** What Kubernetes puts into every container beside Services named postrider, postrider-metrics and the like. */
const KUBERNETES_NAME = /^POSTRIDER_(?:.*_)?(?:SERVICE_|PORT_\d+_)/;
const KUBERNETES_PORT = /^(?:tcp|udp|sctp):\/\//;

export type LoadedSettings = { settings: Settings; warnings: string[] };

/** `flags` by setting name, as given on the command line. Throws UsageError. */
export function loadSettings(flags: Partial<Record<SettingName, string>>, configFile: string | null): LoadedSettings {
  const warnings: string[] = [];
  const environment = readEnvironment(process.env, warnings);
  const file = configFile ?? process.env['POSTRIDER_CONFIG'] ?? null;
  const texts = { ...(file === null ? {} : readConfigFile(file)), ...environment, ...withOrigin(flags) };
  const settings = Object.fromEntries(
    Object.entries(SETTINGS).map(([name, { default: fallback, parse }]) => {
      const given = texts[name as SettingName];
      return [name, parseValue(given?.origin ?? name, given?.text ?? fallback, parse as (text: string) => unknown)];
    }),
  ) as unknown as Settings;
  if (settings.BODY_RETENTION > settings.ROW_RETENTION) {
    throw new UsageError('BODY_RETENTION must not be longer than ROW_RETENTION');
  }
  return { settings, warnings };
}

/** By which an import reads Svix; empty counts as not set. */
export function readSvixToken(): string | null {
  return process.env['SVIX_TOKEN'] || null;
}

/** Which traces are asked for, by the standard variables of OpenTelemetry; null: none. Throws UsageError. */
export function loadTraceSettings(): TraceSettings | null {
  try {
    return parseTraceSettings(process.env);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Where the service is and which key opens it, for commands that ask one; empty counts as not set. */
export function readClientVariables(): { url: string | null; key: string | null } {
  return { url: process.env['POSTRIDER_URL'] || null, key: process.env['POSTRIDER_API_KEY'] || null };
}

/** Where a shell looks for a program that is named without a path; empty: the current folder (POSIX, section 8.3). */
export function programFolders(): string[] {
  return (process.env['PATH'] ?? '').split(delimiter);
}

/** The user's own folder for this program (XDG Base Directory: what is not absolute is ignored); maybe not there. */
export function configFolder(): string {
  const base = process.env['XDG_CONFIG_HOME'] ?? '';
  return join(isAbsolute(base) ? base : join(homedir(), '.config'), 'postrider');
}

/** For what a start finds of the process before it: systemd's folder for the service, or one among temporary files. */
export function runtimeFolder(): string {
  return process.env['RUNTIME_DIRECTORY'] ?? join(tmpdir(), `postrider-${process.getuid?.() ?? 'user'}`);
}

type GivenText = { text: string; origin: string };
type GivenTexts = Partial<Record<SettingName, GivenText>>;

function readEnvironment(environment: NodeJS.ProcessEnv, warnings: string[]): GivenTexts {
  const given: GivenTexts = {};
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || OTHER_VARIABLES.has(variable) || value === undefined) continue;
    if (KUBERNETES_NAME.test(variable) || (variable.endsWith('_PORT') && KUBERNETES_PORT.test(value))) {
      warnings.push(`${variable} is ignored: it looks like a Kubernetes service variable, not a setting`);
      continue;
    }
    const name = variable.slice(PREFIX.length);
    if (!isSettingName(name)) throw new UsageError(unknownSetting(variable, PREFIX));
    given[name] = { text: value, origin: variable };
  }
  return given;
}

function readConfigFile(file: string): GivenTexts {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`cannot read the settings file ${file}: ${(error as Error).message}`);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new UsageError(`the settings file ${file} must hold one JSON object, such as {"PORT": 8383}`);
  }
  const given: GivenTexts = {};
  for (const [key, value] of Object.entries(content)) {
    const name = key.toUpperCase();
    if (!isSettingName(name)) throw new UsageError(`${file}: ${unknownSetting(key, '')}`);
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new UsageError(`${file}: ${key} must be a string or a number`);
    }
    given[name] = { text: String(value), origin: `${file}: ${key}` };
  }
  return given;
}

function withOrigin(flags: Partial<Record<SettingName, string>>): GivenTexts {
  const entries = Object.entries(flags).map(([name, value]) => [name, { text: value, origin: flagOf(name) }]);
  return Object.fromEntries(entries) as GivenTexts;
}

/** `DATA_DIR` → `--data-dir`. */
export function flagOf(name: string): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`;
}

function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

function parseValue<T>(origin: string, value: string, parse: (text: string) => T): T {
  try {
    return parse(value);
  } catch (error) {
    throw new UsageError(`${origin}: ${(error as Error).message}`);
  }
}

// ── Suggestions ──

function unknownSetting(given: string, prefix: string): string {
  const suggestion = closestName(given.toUpperCase().replace(PREFIX, ''), Object.keys(SETTINGS));
  const hint = suggestion === null ? 'see docs/reference/settings.md' : `did you mean ${prefix}${suggestion}?`;
  return `unknown setting ${given}; ${hint}`;
}

/** The candidate that differs least from what was given, unless it is far off. */
export function closestName(given: string, candidates: readonly string[]): string | null {
  let best: { name: string; distance: number } | null = null;
  for (const name of candidates) {
    const distance = editDistance(given, name);
    if (best === null || distance < best.distance) best = { name, distance };
  }
  return best !== null && best.distance <= Math.max(2, Math.floor(given.length / 3)) ? best.name : null;
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitution, previous[j]! + 1, current[j - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}

// ── Kinds of settings ──

function setting<T>(fallback: string, others: Omit<Setting<T>, 'default'>): Setting<T> {
  return { default: fallback, ...others };
}

function text(fallback: string, meaning: string): Setting<string> {
  return setting(fallback, { unit: 'text', value: 'TEXT', meaning, parse: (given) => given });
}

/** Not empty: a variable that somebody left empty would otherwise mean every address, or no folder. */
function someText(fallback: string, meaning: string): Setting<string> {
  const parse = (given: string): string => {
    if (given === '') throw new Error(`is empty; leave it out for ${fallback}`);
    return given;
  };
  return setting(fallback, { unit: 'text', value: 'TEXT', meaning, parse });
}

/** One that no header can bring would shut everybody out. */
function bearerToken(given: string): string {
  if (/^[\x21-\x7e]*$/.test(given)) return given;
  throw new Error('a token is printable ASCII without spaces, for it stands in a header');
}

function integer(fallback: string, range: { min: number; max: number }, meaning: string): Setting<number> {
  const parse = (given: string): number => {
    const value = Number(given);
    if (!/^\d+$/.test(given) || value < range.min || value > range.max) {
      throw new Error(`"${given}" is not a whole number from ${range.min} to ${range.max}`);
    }
    return value;
  };
  return setting(fallback, { unit: `${range.min}-${range.max}`, value: 'N', meaning, parse });
}

function choice<const T extends string>(fallback: T, options: readonly T[], meaning: string): Setting<T> {
  const parse = (given: string): T => {
    const found = options.find((option) => option === given);
    if (found === undefined) throw new Error(`"${given}" is not one of ${options.join(', ')}`);
    return found;
  };
  return setting(fallback, { unit: options.join(', '), value: 'WORD', meaning, options, parse });
}

/** `90s`, `12h`, `30d` as milliseconds; null: no duration. */
export function parseDuration(given: string): number | null {
  if (given === '0') return 0;
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(given);
  return match === null ? null : Number(match[1]) * DURATION_UNITS_MS[match[2]!]!;
}

function formatDuration(valueMs: number): string {
  const [unit, unitMs] = Object.entries(DURATION_UNITS_MS).findLast(([, one]) => valueMs % one === 0)!;
  return valueMs === 0 ? '0' : `${valueMs / unitMs}${unit}`;
}

function duration(fallback: string, range: { minMs: number; maxMs: number }, meaning: string): Setting<number> {
  const unit = `${formatDuration(range.minMs)}-${formatDuration(range.maxMs)}`;
  const parse = (given: string): number => {
    const valueMs = parseDuration(given) ?? Number.NaN;
    if (valueMs >= range.minMs && valueMs <= range.maxMs) return valueMs;
    throw new Error(`"${given}" is not a duration in ${unit}; write 30d, 12h, 5m, 90s or 500ms`);
  };
  return setting(fallback, { unit, value: 'DURATION', meaning, parse });
}

const SIZE_UNITS: Record<string, number> = { '': 1, KB: 1_024, MB: 1_024 ** 2, GB: 1_024 ** 3 };

function size(fallback: string, meaning: string, min = '0'): Setting<number> {
  const parse = (given: string): number => {
    const value = parseSize(given);
    if (value === null) throw new Error(`"${given}" is not a size; write a number of bytes, or 64MB, 2GB`);
    if (value < parseSize(min)!) throw new Error(`${value} bytes are too few; write at least ${min}`);
    return value;
  };
  return setting(fallback, { unit: min === '0' ? 'bytes' : `bytes, at least ${min}`, value: 'SIZE', meaning, parse });
}

/** Null: no size. */
function parseSize(given: string): number | null {
  const match = /^(\d{1,12})(KB|MB|GB|)$/.exec(given);
  return match === null ? null : Number(match[1]) * SIZE_UNITS[match[2]!]!;
}

function subnets(fallback: string, meaning: string): Setting<string[]> {
  const parse = (given: string): string[] => {
    const parts = listOf(given);
    for (const part of parts) parseSubnet(part);
    return parts;
  };
  return setting(fallback, { unit: 'CIDR list', value: 'LIST', meaning, parse });
}

function hostNames(given: string): string[] {
  const names = listOf(given);
  for (const name of names) {
    // As browsers write it: in lower case, without a port.
    if (URL.parse(`http://${name}/`)?.hostname !== name)
      throw new Error(`"${name}" is not a name such as hooks.example.com`);
  }
  return names;
}

function listOf(given: string): string[] {
  const parts = given.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

function databaseUrl(given: string): string | null {
  if (given === '') return null;
  // The URL itself is not repeated: it may hold a password.
  if (URL.canParse(given) && /^postgres(ql)?:$/.test(new URL(given).protocol)) return given;
  throw new Error('not of the form postgres://user:password@host:5432/database');
}
