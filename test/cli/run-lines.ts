// Runs command lines that print and end, one after the other in one process, and tells what each printed and came to.
// Settings are this process's. See lines.ts.
import { runCommandLine } from '../../src/cli/command-line.ts';

export type LineRun = { code: number; stdout: string; stderr: string };

process.on('message', (argv: readonly string[]) => void answer(argv));

async function answer(argv: readonly string[]): Promise<void> {
  const run: LineRun = { code: 0, stdout: '', stderr: '' };
  process.stdout.write = collect((text) => (run.stdout += text));
  process.stderr.write = collect((text) => (run.stderr += text));
  run.code = await runCommandLine(argv);
  process.send!(run);
}

function collect(take: (text: string) => void): typeof process.stdout.write {
  return (text: string | Uint8Array, ...rest: unknown[]) => {
    take(String(text));
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
}
