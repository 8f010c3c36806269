// Forgets what login has remembered. The key itself stays valid: `keys revoke` ends that.
import { CONNECTION_FLAGS } from '../api/connection.ts';
import { CommandFailure, JSON_FLAG, type Command } from '../command.ts';
import { printJson, say } from '../output.ts';
import { checkProfileName, DEFAULT_PROFILE, removeProfile } from './profiles.ts';

export const logoutCommand: Command = {
  name: 'logout',
  summary: 'Forget what login has remembered; the key itself stays valid',
  usage: ['logout [--profile NAME] [--json]'],
  examples: ['logout', 'logout --profile production'],
  flags: {
    profile: { ...CONNECTION_FLAGS.profile, meaning: 'the name it is remembered under', default: DEFAULT_PROFILE },
    json: JSON_FLAG,
  },
  async run(line) {
    const name = checkProfileName(line.textOf('profile') ?? DEFAULT_PROFILE);
    if (!removeProfile(name)) throw new CommandFailure(`there is no profile "${name}"`);
    if (line.has('json')) await printJson({ profile: name, removed: true });
    else await say(`The profile "${name}" is forgotten. Its key stays valid until it is revoked.`);
  },
};
