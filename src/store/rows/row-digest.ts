// A checksum of a table that both sides of a copy can compute in an order of their own: the sum of the rows' SHA-256.
// It finds what goes wrong by accident; it is no defence against somebody who chooses rows to fit.
import { hash } from 'node:crypto';
import type { CopiedRow, CopiedTable, CopiedValue } from './copied-tables.ts';

const BITS = 256n;

export class RowDigest {
  rows = 0;
  #sum = 0n;

  /** As read back: a body is its SHA-256. */
  add(row: CopiedRow): void {
    const text = JSON.stringify(row.map(toJson));
    this.#sum = BigInt.asUintN(Number(BITS), this.#sum + BigInt(`0x${hash('sha256', text, 'hex')}`));
    this.rows++;
  }

  get sha256Sum(): string {
    return this.#sum.toString(16).padStart(Number(BITS / 4n), '0');
  }
}

/** A row as its target will read it back. */
export function digestBodies(table: CopiedTable, row: CopiedRow): CopiedRow {
  const kinds = Object.values(table.columns);
  if (!kinds.includes('body')) return row;
  return row.map((value, i) =>
    kinds[i] === 'body' && value instanceof Uint8Array ? hash('sha256', value, 'buffer') : value,
  );
}

function toJson(value: CopiedValue): unknown {
  return value instanceof Uint8Array ? { hex: value.toHex() } : value;
}
