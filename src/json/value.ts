// Values of JSON text that is known to be valid, read without V8's misreading of escaped keys (json-reader.ts).
import { JsonReader } from './reader.ts';

/** As JSON.parse, which it is unless some key has an escape. */
export function parseJson(text: string): unknown {
  return hasEscapedKey(text) ? readJsonValue(text, Number) : JSON.parse(text);
}

const REST_OF_STRING = /[^"\\]*(?:\\.[^"\\]*)*"\s*(:?)/y;

/** Whether JSON.parse might misread a key. */
export function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', REST_OF_STRING.lastIndex)) {
    REST_OF_STRING.lastIndex = at;
    if (REST_OF_STRING.exec(text)?.[1] === ':') return true;
  }
  return false;
}

/** Of duplicate keys the last counts. `readNumber` makes of a number's text what stands for it. */
export function readJsonValue(text: string, readNumber: (text: string) => unknown): unknown {
  return readValue(new JsonReader(text), readNumber);
}

type ReadNumber = (text: string) => unknown;

function readValue(json: JsonReader, readNumber: ReadNumber): unknown {
  if (json.skip('{')) return readObject(json, readNumber);
  if (json.skip('[')) return readArray(json, readNumber);
  return json.isAtString() ? json.readString() : readBare(json.readBare(), readNumber);
}

function readObject(json: JsonReader, readNumber: ReadNumber): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  while (!json.skip('}')) {
    const key = json.readString();
    json.skip(':');
    const value = readValue(json, readNumber);
    json.skip(',');
    // Assigned, it would become the prototype.
    if (key === '__proto__') Object.defineProperty(object, key, { ...OWN_MEMBER, value });
    else object[key] = value;
  }
  return object;
}

const OWN_MEMBER = { writable: true, enumerable: true, configurable: true };

function readArray(json: JsonReader, readNumber: ReadNumber): unknown[] {
  const array: unknown[] = [];
  while (!json.skip(']')) {
    array.push(readValue(json, readNumber));
    json.skip(',');
  }
  return array;
}

function readBare(text: string, readNumber: ReadNumber): unknown {
  return text === 'true' || text === 'false' || text === 'null' ? JSON.parse(text) : readNumber(text);
}
