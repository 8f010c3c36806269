// What a schema finds wrong with a request, as an error that names the field and says what would be right.
import { ApiError } from '../../model/error.ts';
import { ANY_TEXT, PRINTABLE_ASCII } from '../schemas/fields.ts';
import { clip, pointTo } from './request-json.ts';

/** What Ajv reports (the part of it that is used). */
type SchemaFault = {
  keyword: string;
  instancePath: string;
  params: Record<string, unknown>;
  message?: string | undefined;
  /** The value at fault. */
  data?: unknown;
};

/** `where` is Fastify's name for a part of the request: `body` or `querystring`. */
export function explainFaults(faults: readonly SchemaFault[], where: string): ApiError {
  // Ajv stops at the first fault; with a union there may be more, and the first is as good as any.
  const fault = faults[0]!;
  const member = blamedMember(fault);
  const path = fault.instancePath + (member === null ? '' : pointTo(member));
  const isQuery = where === 'querystring';
  const param = isQuery ? (path.split('/')[1] ?? '') : path;
  const name = member === null ? describe(path, isQuery) : `"${clip(member)}"`;
  return new ApiError('invalid_request', `${name} ${explain(fault, isQuery)}`, param === '' ? {} : { param });
}

function blamedMember({ keyword, params }: SchemaFault): string | null {
  if (keyword === 'required') return String(params.missingProperty);
  if (keyword === 'additionalProperties') return String(params.additionalProperty);
  return null;
}

function describe(path: string, isQuery: boolean): string {
  if (path === '') return isQuery ? 'the query' : 'the request body';
  return `"${clip(path.slice(1).replaceAll('/', '.'))}"`;
}

function explain({ keyword, params, message, data }: SchemaFault, isQuery: boolean): string {
  switch (keyword) {
    case 'required':
      return 'is missing';
    case 'additionalProperties':
      return `is not a ${isQuery ? 'query parameter' : 'field'} of this request; leave it out or correct its name`;
    case 'enum':
      return `must be one of ${listOf(params.allowedValues)}`;
    case 'type':
      // In a query everything is text, unless a parameter is there twice.
      return `must be ${listOf(params.type, withArticle)}${isQuery ? ', given once' : ''}`;
    case 'pattern':
      return explainCharacter(String(data), String(params.pattern));
    case 'uniqueItems':
      return 'must not name the same thing twice';
    case 'minimum':
      return `is ${String(data)}; it must be at least ${String(params.limit)}`;
    case 'maximum':
      return `is ${String(data)}; it must be at most ${String(params.limit)}`;
    default:
      return explainSize(keyword, Number(params.limit), data) ?? message ?? 'is not valid';
  }
}

/** Null: the keyword is not about a size. */
function explainSize(keyword: string, limit: number, data: unknown): string | null {
  const [, bound, what] = /^(min|max)(Length|Items|Properties)$/.exec(keyword) ?? [];
  if (bound === undefined) return null;
  const has = Array.from(what === 'Properties' ? Object.keys(Object(data)) : (data as string)).length;
  if (has === 0) return 'must not be empty';
  const noun = { Length: 'character', Items: 'item', Properties: 'member' }[what as 'Length' | 'Items' | 'Properties'];
  const least = bound === 'min' ? 'least' : 'most';
  return `has ${has} ${noun}${has === 1 ? '' : 's'}; it must have at ${least} ${limit}`;
}

/** Named by its number: it may be one that nobody sees. */
function explainCharacter(text: string, pattern: string): string {
  const form = new RegExp(pattern, 'u');
  const refused = Array.from(text).find((character) => !form.test(character))!;
  const number = refused.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  const { takes } = [ANY_TEXT, PRINTABLE_ASCII].find((other) => other.pattern === pattern)!;
  return `has the character U+${number}; it takes ${takes}`;
}

function listOf(values: unknown, inWords: (value: string) => string = (value) => value): string {
  const texts = (Array.isArray(values) ? values : String(values).split(',')).map((value) => inWords(String(value)));
  return texts.join(' or ');
}

function withArticle(type: string): string {
  if (type === 'null') return type;
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}

const WHOLE_NUMBER = /^-?\d{1,15}$/;

/**
 * Makes numbers of those query parameters that the schema says are integers. Text that is no plain integer ("1e1",
 * " 5", "0x10", "") stays text, and is refused as such.
 */
export function readQueryNumbers(query: Record<string, unknown>, schema: unknown): void {
  const properties = (schema as { properties?: Record<string, { type?: string }> } | undefined)?.properties ?? {};
  for (const [name, property] of Object.entries(properties)) {
    const text = query[name];
    if (property.type === 'integer' && typeof text === 'string' && WHOLE_NUMBER.test(text)) query[name] = Number(text);
  }
}
