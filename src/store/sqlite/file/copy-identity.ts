// The name of what the store holds while a copy of it is under way. Whoever serves the store again takes the name away:
// rows that were copied before may have changed since, so such a copy must not be gone on with.
import type { Random } from '../../../runtime/random.ts';
import { prepare } from './database.ts';
import type { Database } from './database.ts';

const NAME = 'copy_id';
const ID_BYTES = 16;

export function nameForCopying(db: Database, random: Random): string {
  const id = random.bytes(ID_BYTES);
  prepare(db, 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(NAME, id);
  const row = prepare<{ value: Uint8Array }>(db, 'SELECT value FROM meta WHERE name = ?').get(NAME)!;
  return Buffer.from(row.value).toString('hex');
}

export function forgetCopying(db: Database): void {
  prepare(db, 'DELETE FROM meta WHERE name = ?').run(NAME);
}
