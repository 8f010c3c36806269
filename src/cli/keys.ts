// API keys from the command line, on the store directly: an operator always gets in, also while the service runs.
import type { CommandGroup } from './command.ts';
import { createKeyCommand } from './keys/create.ts';
import { listKeysCommand } from './keys/list.ts';
import { revokeKeyCommand } from './keys/revoke.ts';

export const keysCommands: CommandGroup = {
  name: 'keys',
  summary: 'Create, list and revoke API keys',
  commands: [createKeyCommand, listKeysCommand, revokeKeyCommand],
};
