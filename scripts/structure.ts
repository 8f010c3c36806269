// How easy the source is to read, in figures: node scripts/structure.ts. What one event runs through is counted by V8
// in a running service; everything else is read from the syntax.
import { coverOneEvent } from './structure/event-path.ts';
import { describeClasses, describeFunctions, listSingleInterfaces } from './structure/syntax.ts';
import { countLines } from './structure/lines.ts';
import { listDeadExports } from '../test/tidy/exports.ts';
import { isSource, tree } from '../test/tidy/source.ts';

const isVerbose = process.argv.includes('--verbose');
const files = Object.fromEntries(Object.entries(tree()).filter(([file]) => isSource(file)));

function print(title: string, value: string, details: string[] = []): void {
  process.stdout.write(`${title.padEnd(46)} ${value}\n`);
  if (isVerbose) for (const line of details) process.stdout.write(`    ${line}\n`);
}

const lines = countLines(files);
print('files, lines, of these comments', `${lines.files}, ${lines.total}, ${lines.commentShare}`, lines.perFolder);

const functions = describeFunctions(files);
print('functions: median, p90, longest, in lines', functions.summary, functions.longest);

const classes = describeClasses(files);
print('classes: most fields, most methods', classes.summary, classes.all);

const interfaces = listSingleInterfaces(files);
print('interfaces of methods with one implementation', String(interfaces.length), interfaces);

const exports = listDeadExports(tree()).map(
  ({ name, file, isImportedElsewhere }) => `${name} (${file})${isImportedElsewhere ? ', imported outside src' : ''}`,
);
print('exports that no file of src/ imports', String(exports.length), exports);

const path = await coverOneEvent();
print('one event, files and functions', `${path.files.length}, ${path.functionCount}`, path.files);
