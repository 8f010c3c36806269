// Which version this is: of the program, and of the Node that it runs on.
import { VERSION } from '../config.ts';
import { JSON_FLAG, type Command } from './command.ts';
import { print, printJson } from './output.ts';

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version',
  usage: ['version [--json]'],
  examples: ['version', 'version --json'],
  flags: { json: { ...JSON_FLAG, meaning: 'print the versions of Postrider and of its Node as JSON' } },
  async run(line) {
    if (line.has('json')) await printJson({ version: VERSION, node: process.versions.node });
    else await print(VERSION);
  },
};
