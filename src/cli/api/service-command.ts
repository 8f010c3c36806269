// A command that asks a service: the flags that all of them have, the client, and errors in the command's own words.
import type { Postrider } from '../../../sdk/typescript/src/postrider.ts';
import type * as Client from '../../../sdk/typescript/src/postrider.ts';
import { UsageError } from '../../config.ts';
import type { Command, CommandLine } from '../command.ts';
import { print, printJson, say } from '../output.ts';
import { terminalWidth } from '../table.ts';
import { askService, type NameOfParam } from './ask-service.ts';
import { CONNECTION_FLAGS, readConnection, type Connection } from './connection.ts';
import { formatDetails } from './details.ts';

/** What a command of this kind gets to work with. */
export type Asking = {
  client: Postrider;
  /** The client's module, whose classes tell errors apart. */
  module: typeof Client;
  line: CommandLine;
  isJson: boolean;
  connection: Connection;
};

export type Declaration = Omit<Command, 'settings' | 'run' | 'whereMissing'>;

/** `work`: as a command's `run`. What it throws as UsageError is the command line's fault. */
export function serviceCommand(
  declaration: Declaration,
  work: (asking: Asking) => Promise<number | void>,
  connect: (line: CommandLine) => Connection = readConnection,
): Command {
  const { flags } = declaration;
  return {
    ...declaration,
    // The command's own come first in --help, and in its own words where they are among the common ones.
    flags: { ...flags, ...CONNECTION_FLAGS, ...flags },
    async run(line) {
      const connection = connect(line);
      return askService(connection, nameOfParam(declaration, line), (client, module) =>
        work({ client, module, line, isJson: line.has('json'), connection }),
      );
    },
  };
}

/** `/filter/$.total` is what --filter gave; `/url` the word URL. Of two flags for one thing, the one that is given. */
function nameOfParam({ flags = {}, words = [] }: Declaration, line: CommandLine): NameOfParam {
  return (param) => {
    const [member = ''] = param.replace(/^\//, '').split('/');
    const able = Object.keys(flags).filter((name) => (flags[name]!.param ?? name.replaceAll('-', '_')) === member);
    const flag = able.find((name) => line.textOf(name) !== null) ?? able[0];
    if (flag !== undefined) return `--${flag}`;
    return words.find((word) => word.toLowerCase() === member || word === PARAM_WORDS[member]) ?? null;
  };
}

const PARAM_WORDS: Record<string, string> = { event_type: 'TYPE', destination_id: 'DESTINATION' };

/** The id that is the first word. Throws UsageError at another kind of thing. */
export function idOf(line: CommandLine, { prefix, noun }: { prefix: string; noun: string }): string {
  const [id] = line.words;
  if (id === undefined) throw new UsageError(`which ${noun}? Its id, ${prefix}_…, is missing`);
  if (!id.startsWith(`${prefix}_`)) {
    const article = /^[aeiou]/.test(noun) ? 'an' : 'a';
    throw new UsageError(`"${id}" is not the id of ${article} ${noun}; they begin with ${prefix}_`);
  }
  return id;
}

/** One thing that a command made or changed: for people with all its fields, for programs as a line of JSON. */
export async function printResult({ isJson }: { isJson: boolean }, thing: object): Promise<void> {
  if (isJson) return printJson(thing);
  await print(formatDetails(thing, terminalWidth()));
}

/** The outcome of a command that has nothing to show: a sentence for people, an object for programs. */
export async function printDone({ isJson }: Asking, text: string, json: object): Promise<void> {
  if (isJson) return printJson(json);
  await say(text);
}
