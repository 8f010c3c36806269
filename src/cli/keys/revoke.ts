// Revokes an API key: of the store, or through a running service that is named. A running service refuses it within a
// second.
import { UsageError } from '../../config.ts';
import { isId } from '../../model/id.ts';
import type { ToolStore } from '../../store/store.ts';
import { JSON_FLAG, type Command, type CommandLine } from '../command.ts';
import { printJson, say, tell } from '../output.ts';
import { STORE_SETTINGS, withStore } from '../with-store.ts';
import { asksService, SERVICE_FLAGS, throughService } from './through-service.ts';
import { nextCommand, quote } from '../next-command.ts';

export const revokeKeyCommand = revoking('revoke');
/** The same by the word that the other nouns have for it. */
export const deleteKeyCommand = revoking('delete');

function revoking(verb: 'revoke' | 'delete'): Command {
  return {
    name: `keys ${verb}`,
    summary: 'Revoke an API key for good; a running service refuses it within a second',
    usage: [`keys ${verb} ID [--json]`, `keys ${verb} ID --url URL --key KEY [--json]`],
    examples: [`keys ${verb} key_…`],
    settings: STORE_SETTINGS,
    flags: { json: JSON_FLAG, ...SERVICE_FLAGS },
    words: ['ID'],
    whereMissing: "Name the service's with --data-dir or --database-url, or ask a running one with --url and --key",
    run: (line) => revoke(line, verb),
  };
}

async function revoke(line: CommandLine, verb: string): Promise<number> {
  const [id] = line.words;
  if (id === undefined) throw new UsageError(`name the key: keys ${verb} key_…; "${listCommand(line)}" shows them`);
  let isRevoked = true;
  if (asksService(line)) await throughService(line, (client) => client.keys.revoke(id));
  else isRevoked = await withStore(line, (store) => revokeKey(store, id));
  if (line.has('json')) await printJson({ id, revoked: isRevoked });
  else if (isRevoked) await say(`${id} is revoked; a running service refuses it within a second`);
  if (!isRevoked) tell(`postrider: there is no key ${id}; "${listCommand(line)}" shows them`);
  return isRevoked ? 0 : 1;
}

/** Of the same store. */
function listCommand(line: CommandLine): string {
  const dataDir = line.textOf('data-dir');
  return nextCommand(`keys list${dataDir === null ? '' : ` --data-dir ${quote(dataDir)}`}`);
}

async function revokeKey(store: ToolStore, id: string): Promise<boolean> {
  const environments = (await store.readEnvironments()).map(({ environment }) => environment);
  return isId('key', id) && (await store.revokeApiKey({ environments, id }));
}
