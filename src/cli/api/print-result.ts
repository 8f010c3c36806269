// One thing that a command made or changed: for people with all its fields, for programs as a line of JSON.
import { print, printJson } from '../output.ts';
import { terminalWidth } from '../table.ts';
import { formatDetails } from './details.ts';

export async function printResult({ isJson }: { isJson: boolean }, thing: object): Promise<void> {
  if (isJson) await printJson(thing);
  else await print(formatDetails(thing, terminalWidth()));
}
