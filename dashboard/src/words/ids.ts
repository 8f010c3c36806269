// An id ends in a UUIDv7 in base32, so its first ten characters are the millisecond in which it was made. By that, the
// beginning of an id is a range of time, in which the lists can look.

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 10;
const SUFFIX_LENGTH = 26;

export type IdKind = 'dst' | 'sub' | 'evt' | 'dlv' | 'op' | 'key';

export type ParsedId = { kind: IdKind; text: string; isWhole: boolean; since: number; until: number };

/** Null: it is no id, nor the beginning of one that says when it was made. */
export function parseId(input: string): ParsedId | null {
  const text = input.trim().toLowerCase();
  const [, kind, suffix] = /^(dst|sub|evt|dlv|op|key)_([0-9a-z]{1,26})$/.exec(text) ?? [];
  if (kind === undefined || suffix === undefined) return null;
  if (suffix.split('').some((character) => !ALPHABET.includes(character))) return null;
  const known = suffix.slice(0, TIME_CHARACTERS);
  const since = valueOf(known.padEnd(TIME_CHARACTERS, '0'));
  const until = valueOf(known.padEnd(TIME_CHARACTERS, 'z'));
  return { kind: kind as IdKind, text, isWhole: suffix.length === SUFFIX_LENGTH, since, until };
}

function valueOf(characters: string): number {
  return characters.split('').reduce((value, character) => value * 32 + ALPHABET.indexOf(character), 0);
}

/** `dlv_…7ra`, where a whole one has no room. The last characters are what tells two apart. */
export function shortId(id: string): string {
  const [prefix = '', suffix = ''] = id.split('_');
  return suffix.length <= 8 ? id : `${prefix}_…${suffix.slice(-6)}`;
}
