// Values on their way into statements and out of rows. Batches go in as arrays in PostgreSQL's binary format: a body
// of any bytes is copied once, where the text format would double it. Rows come back as text, which is all pg reads.
import type { ColumnKind } from '../../rows/codec.ts';

export type ColumnType = 'uuid' | 'int2' | 'int4' | 'int8' | 'float8' | 'bool' | 'text' | 'bytea';
export type Value = Uint8Array | string | number | boolean | null;
type Rows = readonly (readonly Value[])[];

/** What a column is sent as. Narrower integer columns take it, or refuse the row. */
export const TYPE_OF: Readonly<Record<ColumnKind, ColumnType>> = {
  id: 'uuid',
  integer: 'int8',
  real: 'float8',
  flag: 'bool',
  text: 'text',
  words: 'text',
  bytes: 'bytea',
  body: 'bytea',
};

const OID = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, float8: 701, uuid: 2950 } as const;

const BYTES_OF: Partial<Record<ColumnType, number>> = { bool: 1, int2: 2, int4: 4, int8: 8, float8: 8, uuid: 16 };
const NULL_LENGTH = -1;
const HEAD_BYTES = 12;
const DIMENSION_BYTES = 8;
const WORD = 2 ** 32;

/** One-dimensional, as `array_recv` reads it: dimensions, null flag, element type, then length and bytes of each. */
export function encodeArray(type: ColumnType, values: readonly Value[]): Buffer {
  return encodeColumn(
    type,
    values.map((value) => [value]),
    0,
  );
}

/** The same, of one value of each row. */
export function encodeColumn(type: ColumnType, rows: Rows, column: number): Buffer {
  const { bytes, nulls } = measure(type, rows, column);
  const buffer = Buffer.allocUnsafe(rows.length === 0 ? HEAD_BYTES : HEAD_BYTES + DIMENSION_BYTES + bytes);
  buffer.writeInt32BE(rows.length === 0 ? 0 : 1, 0);
  buffer.writeInt32BE(nulls === 0 ? 0 : 1, 4);
  buffer.writeInt32BE(OID[type], 8);
  if (rows.length === 0) return buffer;
  buffer.writeInt32BE(rows.length, HEAD_BYTES);
  buffer.writeInt32BE(1, HEAD_BYTES + 4);
  let offset = HEAD_BYTES + DIMENSION_BYTES;
  for (const row of rows) offset = writeElement(buffer, offset, type, row[column]!);
  return buffer;
}

/** Of the elements, with their lengths. */
function measure(type: ColumnType, rows: Rows, column: number): { bytes: number; nulls: number } {
  const fixed = BYTES_OF[type];
  let [bytes, nulls] = [4 * rows.length, 0];
  for (const row of rows) {
    const value = row[column]!;
    if (value === null) nulls++;
    else if (fixed !== undefined) bytes += fixed;
    else bytes += typeof value === 'string' ? Buffer.byteLength(value) : (value as Uint8Array).length;
  }
  return { bytes, nulls };
}

/** Returns where the next one begins. */
function writeElement(buffer: Buffer, offset: number, type: ColumnType, value: Value): number {
  if (value === null) return buffer.writeInt32BE(NULL_LENGTH, offset);
  const at = offset + 4;
  const end = writeValue(buffer, at, type, value);
  buffer.writeInt32BE(end - at, offset);
  return end;
}

function writeValue(buffer: Buffer, at: number, type: ColumnType, value: NonNullable<Value>): number {
  if (typeof value === 'string') return at + buffer.write(value, at);
  if (typeof value === 'object') {
    buffer.set(value, at);
    return at + value.length;
  }
  if (type === 'int2') return buffer.writeInt16BE(value as number, at);
  if (type === 'int4') return buffer.writeInt32BE(value as number, at);
  if (type === 'float8') return buffer.writeDoubleBE(value as number, at);
  if (type === 'bool') return buffer.writeInt8(value === true ? 1 : 0, at);
  // Whole, below 2^53: in two halves it takes no BigInt.
  buffer.writeInt32BE(Math.floor((value as number) / WORD), at);
  return buffer.writeUInt32BE((value as number) >>> 0, at + 4);
}

/** How a column is read, by the number of its type. */
export function decoderOf(oid: number): (text: string) => unknown {
  return DECODERS.get(oid) ?? ((text) => text);
}

/** The same, for what pg reads by itself. */
export const rowTypes = { getTypeParser: decoderOf };

const DECODERS = new Map<number, (text: string) => unknown>([
  [OID.uuid, decodeUuid],
  // "\x" comes first.
  [OID.bytea, (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex'))],
  [OID.bool, (text) => text === 't'],
  [OID.int2, Number],
  [OID.int4, Number],
  [OID.int8, Number],
  [OID.float8, Number],
]);

/** There are four in a delivery: by way of a Buffer, without hyphens, each takes three times as long. */
function decodeUuid(text: string): Uint8Array {
  const bytes = new Uint8Array(16);
  let at = 0;
  for (let i = 0; i < text.length; i += 2) {
    if (text.charCodeAt(i) === HYPHEN) i++;
    bytes[at++] = (nibbleOf(text.charCodeAt(i)) << 4) | nibbleOf(text.charCodeAt(i + 1));
  }
  return bytes;
}

const HYPHEN = 0x2d;

/** Of a digit, or of a lower-case letter. */
function nibbleOf(code: number): number {
  return (code & 0xf) + (code >> 6) * 9;
}

/** An id's bytes as PostgreSQL writes a uuid: for DDL, which takes no parameters. */
export function uuidText(bytes: Uint8Array): string {
  const hex = bytes.toHex();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Text that people wrote, as a JSON string: PostgreSQL's text holds neither U+0000 nor lone surrogates. */
export function encodeText(text: string | null): string | null {
  return text === null ? null : JSON.stringify(text);
}

export function decodeText(stored: string | null): string | null {
  return stored === null ? null : (JSON.parse(stored) as string);
}
