// Values on their way into statements and out of rows. Batches go in as arrays in PostgreSQL's binary format: a body
// of any bytes is copied once, where the text format would double it. Rows come back as text, which is all pg reads.
export type ColumnType = 'uuid' | 'int2' | 'int4' | 'int8' | 'float8' | 'bool' | 'text' | 'bytea';
export type Value = Uint8Array | string | number | boolean | null;

const OID = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, float8: 701, uuid: 2950 } as const;

const BYTES_OF: Partial<Record<ColumnType, number>> = { bool: 1, int2: 2, int4: 4, int8: 8, float8: 8, uuid: 16 };
const NULL_LENGTH = -1;
const HEAD_BYTES = 12;
const DIMENSION_BYTES = 8;

/** One-dimensional, as `array_recv` reads it: dimensions, null flag, element type, then length and bytes of each. */
export function encodeArray(type: ColumnType, values: readonly Value[]): Buffer {
  const sizes = values.map((value) => sizeOf(type, value));
  const total = sizes.reduce((sum, size) => sum + 4 + Math.max(0, size), HEAD_BYTES + DIMENSION_BYTES);
  const buffer = Buffer.allocUnsafe(values.length === 0 ? HEAD_BYTES : total);
  buffer.writeInt32BE(values.length === 0 ? 0 : 1, 0);
  buffer.writeInt32BE(sizes.includes(NULL_LENGTH) ? 1 : 0, 4);
  buffer.writeInt32BE(OID[type], 8);
  if (values.length === 0) return buffer;
  buffer.writeInt32BE(values.length, HEAD_BYTES);
  buffer.writeInt32BE(1, HEAD_BYTES + 4);
  let offset = HEAD_BYTES + DIMENSION_BYTES;
  for (const [i, value] of values.entries()) {
    const size = sizes[i]!;
    buffer.writeInt32BE(size, offset);
    offset += 4;
    if (size === NULL_LENGTH) continue;
    writeElement(buffer, offset, type, value);
    offset += size;
  }
  return buffer;
}

function sizeOf(type: ColumnType, value: Value): number {
  if (value === null) return NULL_LENGTH;
  const fixed = BYTES_OF[type];
  if (fixed !== undefined) return fixed;
  return typeof value === 'string' ? Buffer.byteLength(value) : (value as Uint8Array).length;
}

function writeElement(buffer: Buffer, offset: number, type: ColumnType, value: Value): void {
  if (typeof value === 'string') buffer.write(value, offset);
  else if (value instanceof Uint8Array) buffer.set(value, offset);
  else if (type === 'bool') buffer[offset] = value === true ? 1 : 0;
  else if (type === 'int2') buffer.writeInt16BE(value as number, offset);
  else if (type === 'int4') buffer.writeInt32BE(value as number, offset);
  else if (type === 'float8') buffer.writeDoubleBE(value as number, offset);
  else buffer.writeBigInt64BE(BigInt(value as number), offset);
}

/** How pg reads each column, by the number of its type. */
export const rowTypes = {
  getTypeParser: (oid: number): ((text: string) => unknown) => PARSERS.get(oid) ?? ((text) => text),
};

const PARSERS = new Map<number, (text: string) => unknown>([
  [OID.uuid, (text) => new Uint8Array(Buffer.from(text.replaceAll('-', ''), 'hex'))],
  // "\x" comes first.
  [OID.bytea, (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex'))],
  [OID.bool, (text) => text === 't'],
  [OID.int2, Number],
  [OID.int4, Number],
  [OID.int8, Number],
  [OID.float8, Number],
]);

/** An id's bytes as PostgreSQL writes a uuid: for DDL, which takes no parameters. */
export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Text that people wrote, as a JSON string: PostgreSQL's text holds neither U+0000 nor lone surrogates. */
export function encodeText(text: string | null): string | null {
  return text === null ? null : JSON.stringify(text);
}

export function decodeText(stored: string | null): string | null {
  return stored === null ? null : (JSON.parse(stored) as string);
}
