// A terminal: one bash that lives on from line to line, as a reader's does. A line that fails ends it.
import assert from 'node:assert/strict';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const WAIT_MS_MAX = 120_000;
const DONE = 'the line before this one is done';

/** What still runs when this process ends goes with it. */
const open = new Set<Shell>();
process.on('exit', () => open.forEach((shell) => shell.kill()));

export class Shell {
  /** All that it and what runs in it have printed. */
  output = '';
  readonly #bash: ChildProcessByStdio<Writable, Readable, null>;
  readonly #script: string;
  readonly #printed = new EventEmitter().setMaxListeners(0);
  #hasEnded = false;

  constructor(options: { folder: string; name: string; environment: NodeJS.ProcessEnv }) {
    const { folder, name, environment: env } = options;
    this.#script = join(folder, `.${name}.sh`);
    // A group of its own, so that what runs in the background can be ended with it.
    this.#bash = spawn('bash', ['-e', '-c', 'exec 2>&1; while read -r line; do eval "$line"; done'], {
      cwd: folder,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    open.add(this);
    this.#bash.stdin.on('error', () => undefined);
    this.#bash.stdout.on('data', (chunk: Buffer) => {
      this.output += chunk.toString();
      this.#printed.emit('printed');
    });
    this.#bash.once('exit', () => {
      this.#hasEnded = true;
      this.#printed.emit('printed');
    });
  }

  /** Runs a line to its end and resolves with what was printed meanwhile. What ends in `&` goes on. */
  async run(line: string): Promise<string> {
    const from = this.output.length;
    writeFileSync(this.#script, `${line}\n`);
    this.#bash.stdin.write(`source '${this.#script}' </dev/null; echo; echo '${DONE}'\n`);
    const marker = new RegExp(`\n${DONE}\n`);
    await this.until(marker, from, line);
    this.output = this.output.slice(0, from) + this.output.slice(from).replace(marker, '');
    return this.output.slice(from);
  }

  /** Resolves with the match when this has been printed after the position `from`. */
  async until(pattern: RegExp, from = 0, what = String(pattern)): Promise<RegExpExecArray> {
    const deadline = AbortSignal.timeout(WAIT_MS_MAX);
    for (;;) {
      const match = pattern.exec(this.output.slice(from));
      if (match !== null) return match;
      assert.ok(!this.#hasEnded, `failed: ${what}\n${this.output.slice(-4_000)}`);
      await once(this.#printed, 'printed', { signal: deadline }).catch(() =>
        assert.fail(`nothing came of: ${what}\n${this.output.slice(-4_000)}`),
      );
    }
  }

  kill(): void {
    open.delete(this);
    try {
      process.kill(-this.#bash.pid!, 'SIGKILL');
    } catch {
      // Everything in it has ended.
    }
  }
}
