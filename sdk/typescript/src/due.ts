// What every answer of Postrider to a call has: members, and of which type. What answers `{"ok":true}` to everything,
// such as a gateway in maintenance, has done nothing; and rows without the members that are read of them end in a
// TypeError far from here.

/** `?`: or null. `any`: whatever it is, it is there. */
type Kind = 'any' | 'string' | 'number' | 'boolean' | 'object' | 'string?' | 'number?' | 'object?';
type DueValue = Kind | Due | readonly [DueValue];

/** `[…]`: a list of such. A member `*`: whatever members there are. */
export type Due = { readonly [name: string]: DueValue };

/** Of a thing of the API: whatever is due is one of its members. */
export type DueOf<Thing> = { readonly [Name in keyof Thing]?: DueValue };

/** Where an answer first lacks what is due: `data[0].status`. Null: it has all of it. */
export function lackOf(value: unknown, due: Due): string | null {
  const members = (value ?? {}) as Record<string, unknown>;
  const { '*': others, ...named } = due;
  const all = others === undefined ? named : Object.fromEntries(Object.keys(members).map((name) => [name, others]));
  for (const [name, one] of Object.entries(all)) {
    const lack = lackOfValue(members[name], one);
    if (lack !== null) return `${name}${lack}`;
  }
  return null;
}

/** What follows the value's own name; empty: it is the value itself. */
function lackOfValue(value: unknown, due: DueValue): string | null {
  if (typeof due === 'string') return isOfKind(value, due) ? null : '';
  if (isList(due)) return lackOfItems(value, due[0]);
  if (typeof value !== 'object' || value === null) return '';
  const lack = lackOf(value, due);
  return lack === null ? null : `.${lack}`;
}

function lackOfItems(value: unknown, due: DueValue): string | null {
  if (!Array.isArray(value)) return '';
  for (const [index, item] of value.entries()) {
    const lack = lackOfValue(item, due);
    if (lack !== null) return `[${index}]${lack}`;
  }
  return null;
}

function isList(due: Due | readonly [DueValue]): due is readonly [DueValue] {
  return Array.isArray(due);
}

function isOfKind(value: unknown, kind: Kind): boolean {
  if (kind === 'any') return value !== undefined;
  if (kind.endsWith('?')) return value === null || typeof value === kind.slice(0, -1);
  return value !== null && typeof value === kind;
}
