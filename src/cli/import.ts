// From other services to this one.
import type { CommandGroup } from './command.ts';
import { importSvixCommand } from './import/svix.ts';

export const importCommands: CommandGroup = {
  name: 'import',
  summary: 'Bring destinations over from another service',
  commands: [importSvixCommand],
};
