// Runs command lines that print and end, one after the other in one process, and tells what each printed and came to:
// loading the program is nearly all that one of them costs. Settings are this process's. See lines.ts.
import { runCommandLine } from '../../src/cli/command-line.ts';

export type LineRun = { code: number; stdout: string; stderr: string };

const runs: LineRun[] = [];
const writeOut = process.stdout.write.bind(process.stdout);

for (const line of process.argv.slice(2)) {
  const run: LineRun = { code: 0, stdout: '', stderr: '' };
  process.stdout.write = collect((text) => (run.stdout += text));
  process.stderr.write = collect((text) => (run.stderr += text));
  run.code = await runCommandLine(line.split(' ').filter((word) => word !== ''));
  runs.push(run);
}
writeOut(JSON.stringify(runs));

function collect(take: (text: string) => void): typeof process.stdout.write {
  return (text: string | Uint8Array, ...rest: unknown[]) => {
    take(String(text));
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
}
