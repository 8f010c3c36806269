// Revokes an API key. A running service refuses it within a second.
import { UsageError } from '../../config.ts';
import { isId } from '../../model/id.ts';
import type { ToolStore } from '../../store/store.ts';
import { JSON_FLAG } from '../command.ts';
import type { Command, CommandLine } from '../command.ts';
import { print, printJson, tell } from '../output.ts';
import { STORE_SETTINGS, withStore } from '../with-store.ts';

export const revokeKeyCommand: Command = {
  name: 'keys revoke',
  summary: 'Revoke an API key for good; a running service refuses it within a second',
  usage: ['keys revoke ID [--json]'],
  settings: STORE_SETTINGS,
  flags: { json: JSON_FLAG },
  words: ['ID'],
  whereMissing: "Name the service's with --data-dir or --database-url",
  run: revoke,
};

async function revoke(line: CommandLine): Promise<number> {
  const [id] = line.words;
  if (id === undefined) throw new UsageError('name the key: keys revoke key_…; "postrider keys list" shows them');
  const isRevoked = await withStore(line, (store) => revokeKey(store, id));
  if (line.has('json')) await printJson({ id, revoked: isRevoked });
  else if (isRevoked) await print(`${id} is revoked; a running service refuses it within a second`);
  if (!isRevoked) tell(`postrider: there is no key ${id}; "postrider keys list" shows them`);
  return isRevoked ? 0 : 1;
}

async function revokeKey(store: ToolStore, id: string): Promise<boolean> {
  const environments = (await store.readEnvironments()).map(({ environment }) => environment);
  return isId('key', id) && (await store.revokeApiKey({ environments, id }));
}
