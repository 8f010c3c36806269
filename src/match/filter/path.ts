// Paths of a filter: RFC 9535 (JSONPath) with child steps only, `$` then 0-10 of .name ['name'] [index] [*].
import { quote } from './fault.ts';

/** A member's name, an element's index (negative: from the end), or every member or element: `[*]`. */
export type PathStep = string | number | typeof EVERY;

// No symbol: filters go to another thread, and a message cannot hold one.
export const EVERY = true;

export type FilterPath = {
  steps: readonly PathStep[];
  /** One text for all ways to write a path, as in `$['a'][0][*]`. */
  key: string;
  /** Without `[*]`: it selects at most one value (RFC 9535: a singular query). */
  singular: boolean;
};

const PATH_STEPS_MAX = 10;
const PATH_WILDCARDS_MAX = 2;

const BLANK = '[ \\t\\n\\r]*';
const NAME_FIRST = 'A-Za-z_\\u0080-\\uD7FF\\uE000-\\u{10FFFF}';
const HEX = '[0-9A-Fa-f]';
const HEX_CHAR = `(?:[0-9A-CE-Fa-ce-f]${HEX}{3}|[Dd][0-7]${HEX}{2}|[Dd][89ABab]${HEX}{2}\\\\u[Dd][C-Fc-f]${HEX}{2})`;
const quoted = (mark: string): string =>
  `${mark}(?<${mark === '"' ? 'double' : 'single'}>` +
  `(?:[^${mark}\\\\\\u0000-\\u001F\\uD800-\\uDFFF]|\\\\(?:[${mark}/\\\\bfnrt]|u${HEX_CHAR}))*)${mark}`;
const BRACKETED = `(?<every>\\*)|(?<index>0|-?[1-9][0-9]*)|${quoted("'")}|${quoted('"')}`;
const STEP = new RegExp(
  `${BLANK}(?:\\.(?<name>[${NAME_FIRST}][${NAME_FIRST}0-9]*)|\\[${BLANK}(?:${BRACKETED})${BLANK}\\])`,
  'uy',
);

const NAME = new RegExp(`^[${NAME_FIRST}][${NAME_FIRST}0-9]*$`, 'u');

// Most filters use the same few paths. Shared, a path costs a subscription nothing; on its own some 300 bytes. When
// there are too many, sharing begins afresh: what was parsed stays right.
const KNOWN_PATHS_MAX = 5_000;
const knownPaths = new Map<string, FilterPath>();

/** The path that a text writes, or as a string what keeps it from being one. */
export function parsePath(text: string): FilterPath | string {
  const known = knownPaths.get(text);
  if (known !== undefined) return known;
  const path = readPath(text);
  if (typeof path === 'string') return path;
  if (knownPaths.size === KNOWN_PATHS_MAX) knownPaths.clear();
  knownPaths.set(text, path);
  return path;
}

function readPath(text: string): FilterPath | string {
  const steps: PathStep[] = [];
  if (!text.startsWith('$')) return explainStart(text);
  let end = 1;
  while (end < text.length) {
    STEP.lastIndex = end;
    const groups = STEP.exec(text)?.groups;
    if (groups === undefined) return `${explainStep(text, end)} (after ${quote(text.slice(0, end))})`;
    const step = readStep(groups);
    if (typeof step === 'number' && !Number.isSafeInteger(step)) return 'an index lies within ±(2^53 - 1)';
    steps.push(step);
    end = STEP.lastIndex;
  }
  const wildcards = steps.filter((step) => step === EVERY).length;
  if (steps.length > PATH_STEPS_MAX) return `a path has at most ${PATH_STEPS_MAX} steps; this one has ${steps.length}`;
  if (wildcards > PATH_WILDCARDS_MAX) return `a path has at most ${PATH_WILDCARDS_MAX} [*]; this one has ${wildcards}`;
  return { steps, key: `$${steps.map(normalizeStep).join('')}`, singular: wildcards === 0 };
}

function readStep(groups: Record<string, string | undefined>): PathStep {
  const { name, index, single, double } = groups;
  if (name !== undefined) return name;
  if (index !== undefined) return Number(index);
  if (double !== undefined) return unescape(double);
  if (single === undefined) return EVERY;
  // As JSON would write it: \' is no escape there, and " must be one.
  return unescape(single.replace(/\\[^]|"/g, (part) => ({ "\\'": "'", '"': '\\"' })[part] ?? part));
}

function unescape(escaped: string): string {
  return JSON.parse(`"${escaped}"`) as string;
}

function normalizeStep(step: PathStep): string {
  if (step === EVERY) return '[*]';
  return typeof step === 'number' ? `[${step}]` : `['${JSON.stringify(step).slice(1, -1).replaceAll("'", "\\'")}']`;
}

/** A path as people write it, as in `$.items[*].sku`. */
export function writePath({ steps }: FilterPath): string {
  const isName = (step: PathStep): boolean => typeof step === 'string' && NAME.test(step);
  return `$${steps.map((step) => (isName(step) ? `.${step}` : normalizeStep(step))).join('')}`;
}

function explainStart(text: string): string {
  const name = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/.test(text) ? `.${text}` : '.name';
  return `a path begins with $, the event's body, as in ${quote(`$${name}`)}`;
}

const NAME_CHARACTERS = "after . comes a name of letters, digits and _; write any other name as ['the name']";

/** Why no step begins at `end`. */
function explainStep(text: string, end: number): string {
  const rest = text.slice(end);
  const step = rest.trimStart();
  if (step.startsWith('..')) return 'a path goes one level a step: write .name for each, ".." is not supported';
  if (step.startsWith('.*')) return 'write [*] instead of .*';
  if (/^\[\s*\?/.test(step)) return 'expressions in a path are not supported: write [*] and a condition for each path';
  if (/^\[[^'"]*[,:]/.test(step))
    return 'a step selects by one name, one index or [*]; lists and slices are not supported';
  if (step.startsWith('[')) return `a step in brackets is ['name'], ["name"], [0], [-1] (the last) or [*]`;
  if (/^\.-?[0-9]/.test(step)) return "write an element as [0], and a name that begins with a digit as ['0']";
  if (step.startsWith('.')) return NAME_CHARACTERS;
  if (step === '') return 'a path ends without blanks';
  // As in $.order-id: the name itself goes on.
  if (step === rest && end > 1 && text[end - 1] !== ']') return NAME_CHARACTERS;
  return `a step begins with . or [, as in .name or ['name']`;
}
