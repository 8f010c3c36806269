// What is wrong with a filter, and where.

export type FilterFault = {
  /** JSON pointer (RFC 6901) below the filter; '' is the filter itself. */
  pointer: string;
  /** Says what would be right. */
  message: string;
};

/** Carries a fault out of the recursion; only parseFilter catches it. */
export class FilterError extends Error {
  readonly pointer: string;

  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

export function fail(pointer: string, message: string): never {
  throw new FilterError(pointer, message);
}

/** The pointer to a member of an object or an element of an array. */
export function pointInto(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

const SHOWN_LENGTH_MAX = 80;

/** A text from the filter, in quotes and not too long for a message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);
}
