// Keys of a running service, through its API: only where the command line names one. Without, they are the store's, so
// that an operator always gets in, whatever the environment says of services.
import type { Postrider } from '../../../sdk/typescript/src/postrider.ts';
import { UsageError } from '../../config.ts';
import { askService } from '../api/ask-service.ts';
import { CONNECTION_FLAGS, readConnection } from '../api/connection.ts';
import type { CommandLine, Flag } from '../command.ts';

const { url, key, profile } = CONNECTION_FLAGS;
export const SERVICE_FLAGS: Record<'url' | 'key' | 'profile', Flag> = {
  url: { ...url, meaning: 'ask this running service instead of the store', default: '' },
  key: { ...key, meaning: 'the API key to ask it with: one with the scope admin' },
  profile,
};

export function asksService(line: CommandLine): boolean {
  const [flag] = Object.keys(SERVICE_FLAGS).filter((name) => line.textOf(name) !== null);
  const [setting] = ['data-dir', 'database-url'].filter((name) => line.textOf(name) !== null);
  if (flag !== undefined && setting !== undefined) {
    throw new UsageError(`--${setting} names a store and --${flag} a service: leave one of them out`);
  }
  return flag !== undefined;
}

const FLAGS_OF_PARAMS: Record<string, string> = {
  '/expires_at': '--expires',
  '/name': '--name',
  '/scopes': '--scopes',
};

export function throughService<Result>(
  line: CommandLine,
  ask: (client: Postrider) => Promise<Result>,
): Promise<Result> {
  return askService(readConnection(line), (param) => FLAGS_OF_PARAMS[param] ?? null, ask);
}
