// Many command lines in one process (run-lines.ts): loading the program is nearly all that one of them costs.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LineRun } from './run-lines.ts';

const PROGRAM = fileURLToPath(new URL('./run-lines.ts', import.meta.url));

export async function runLines(lines: readonly string[], environment: NodeJS.ProcessEnv): Promise<LineRun[]> {
  const prompt = new Prompt(environment);
  const runs: LineRun[] = [];
  for (const line of lines) runs.push(await prompt.run(line.split(' ').filter((word) => word !== '')));
  await prompt.close();
  return runs;
}

/** What --json prints: an object a line, nothing else. */
export function rowsOf<Row>(stdout: string): Row[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);
}

/** Takes one command line after the other. */
export class Prompt {
  readonly #child: ChildProcess;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#child = fork(PROGRAM, [], { env: environment, execArgv: [] });
  }

  async run(argv: readonly string[]): Promise<LineRun> {
    const ended = new AbortController();
    const onExit = (): void => ended.abort();
    this.#child.once('exit', onExit);
    this.#child.send(argv);
    const [run] = (await once(this.#child, 'message', { signal: ended.signal })) as [LineRun];
    this.#child.off('exit', onExit);
    return run;
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }
}
