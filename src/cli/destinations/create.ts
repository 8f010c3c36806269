import { readConnection } from '../api/connection.ts';
import { printResult, serviceCommand } from '../api/service-command.ts';
import { requireWord, type CommandLine } from '../command.ts';
import { DESTINATION_FLAGS, readDestinationFlags, readSecret, SECRET_FLAG } from './destination-flags.ts';

export const createDestinationCommand = serviceCommand(
  {
    name: 'destinations create',
    summary: 'Register a URL that gets events; prints its signing secret, this once',
    usage: ['destinations create URL [flags]'],
    examples: [
      'destinations create https://example.com/hooks --name Example',
      'destinations create https://example.com --headers \'{"x-team":"pay"}\'',
      'destinations create https://example.com/a --retry-policy @retry.json',
    ],
    flags: { ...DESTINATION_FLAGS, 'signing-secret': SECRET_FLAG },
    words: ['URL'],
  },
  async (asking) => {
    const { client, line } = asking;
    const options = { ...(await readDestinationFlags(line)), ...(await readSecret(line)) };
    const destination = await client.destinations.create({ url: urlOf(line), ...options });
    await printResult(asking, destination);
  },
  (line) => {
    // First: whoever gave it as --url would be asked for a key for it.
    urlOf(line);
    return readConnection(line);
  },
);

function urlOf(line: CommandLine): string {
  const hint = line.textOf('url') === null ? '' : '; --url names the service';
  return requireWord(line, 0, { what: 'URL', example: `destinations create https://example.com/hooks${hint}` });
}
