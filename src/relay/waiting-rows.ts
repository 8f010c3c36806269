// Rows that were read and wait to be published, in their order; of a group one at a time is out.
import type { Row } from './outbox-table.ts';

/** Of one group: it goes row by row, and the rows of others are to have room beside it. */
export const GROUP_ROWS_MAX = 16;
/** A group with fewer is short: at one row a request, eight last longer than reading the next ones takes. */
const GROUP_ROWS_SHORT = 8;

type BatchBounds = {
  rowsMax: number;
  bytesMax: number;
  /** Less than a batch that is full is left for later. */
  isFullOnly: boolean;
};

export class WaitingRows {
  #rows: Row[] = [];
  #bytes = 0;
  /** How many rows of each group are here. */
  readonly #ofGroup = new Map<string, number>();
  /** Groups that have been full: there are more rows of them, as far as is known. */
  readonly #deep = new Set<string>();
  /** Groups of which a row is out. */
  readonly #out = new Set<string>();

  get count(): number {
    return this.#rows.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  ids(): string[] {
    return this.#rows.map(({ id }) => id);
  }

  /** Groups of which no more need be read. */
  fullGroups(): string[] {
    return [...this.#ofGroup].filter(([, count]) => count >= GROUP_ROWS_MAX).map(([group]) => group);
  }

  /** Groups of which there are more rows, and few left here. */
  shortGroups(): string[] {
    return [...this.#deep].filter((group) => (this.#ofGroup.get(group) ?? 0) < GROUP_ROWS_SHORT);
  }

  /** There are no more rows of these, unless those that come fill them up. */
  forget(groups: readonly string[]): void {
    for (const group of groups) this.#deep.delete(group);
  }

  /**
   * Rows of a group that is full are dropped, to be read again: until then those that come after them are not read
   * (outbox-table.ts, readStatement).
   */
  add(rows: readonly Row[]): { dropped: number } {
    const added = rows.filter((row) => {
      if (row.groupKey !== null && (this.#ofGroup.get(row.groupKey) ?? 0) >= GROUP_ROWS_MAX) return false;
      this.#count(row, 1);
      return true;
    });
    this.#rows.push(...added);
    return { dropped: rows.length - added.length };
  }

  take({ rowsMax, bytesMax, isFullOnly }: BatchBounds): Row[] {
    const taken: Row[] = [];
    const left: Row[] = [];
    const groups = new Set<string>();
    let [bytes, isFull] = [0, false];
    for (const row of this.#rows) {
      const { groupKey } = row;
      const isInTurn = groupKey === null || !(this.#out.has(groupKey) || groups.has(groupKey));
      isFull ||= isInTurn && (taken.length === rowsMax || (taken.length > 0 && bytes + row.bytes > bytesMax));
      if (isFull || !isInTurn) {
        left.push(row);
        continue;
      }
      taken.push(row);
      bytes += row.bytes;
      if (groupKey !== null) groups.add(groupKey);
    }
    if (isFullOnly && !isFull && taken.length < rowsMax) return [];
    this.#rows = left;
    for (const row of taken) this.#count(row, -1);
    for (const group of groups) this.#out.add(group);
    return taken;
  }

  /** Those that came back of a batch go again, before all others. */
  giveBack(rows: readonly Row[]): void {
    this.#rows.unshift(...rows);
    for (const row of rows) {
      this.#count(row, 1);
      this.release(row);
    }
  }

  /** The row is published, or set aside: the next of its group may go. */
  release({ groupKey }: Row): void {
    if (groupKey !== null) this.#out.delete(groupKey);
  }

  #count({ groupKey, bytes }: Row, by: 1 | -1): void {
    this.#bytes += by * bytes;
    if (groupKey === null) return;
    const count = (this.#ofGroup.get(groupKey) ?? 0) + by;
    if (count === 0) this.#ofGroup.delete(groupKey);
    else this.#ofGroup.set(groupKey, count);
    if (count >= GROUP_ROWS_MAX) this.#deep.add(groupKey);
  }
}
