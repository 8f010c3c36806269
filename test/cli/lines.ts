// Many command lines in one process (run-lines.ts).
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LineRun } from './run-lines.ts';

const PROGRAM = fileURLToPath(new URL('./run-lines.ts', import.meta.url));

export async function runLines(lines: readonly string[], environment: NodeJS.ProcessEnv): Promise<LineRun[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...lines], { env: environment });
  return JSON.parse(stdout) as LineRun[];
}
