// Somebody who follows a page of the documentation line by line, in a fresh clone: fills in what earlier commands
// answered, has a terminal for each server, and stands on a machine of its own as far as ports and paths go.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Api } from '../e2e/api.ts';
import { environmentOf, type Scope } from '../e2e/service.ts';
import { ROOT } from './blocks.ts';
import { Shell } from './shell.ts';

/** What the documents say, and what stands for it here. */
export type Stand = readonly [said: string, here: string];

const CLONED = ['bin', 'demo', 'scripts', 'src', 'sdk', 'deploy', 'package.json', 'package-lock.json', '.npmrc'];
/** Ends in `…` in the documents: an id, a key or a secret that an earlier answer has shown. */
const PLACEHOLDER = /\b(pr_test_|pr_live_|whsec_|(?:dst|sub|evt|dlv|sgk|key|op)_)…/g;
const SHOWN = /\b(pr_test_|pr_live_|whsec_|(?:dst|sub|evt|dlv|sgk|key|op)_)[0-9A-Za-z+/=]{20,}/g;
/** Runs until it is told to stop, in a terminal that the reader leaves alone. */
const SERVER = /^(npm start|bin\/postrider serve)\b(?!.*&$)/;
const LISTENING = /is listening on (http:\S+)/;

export class Reader {
  readonly folder: string;
  /** The one that commands are typed into. */
  readonly shell: Shell;
  /** Of the service that was started last. */
  url = '';
  readonly #scope: Scope;
  readonly #stands: readonly Stand[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #shown = new Map<string, string>();
  #server: Shell | null = null;
  #terminals = 0;

  static async arrive(scope: Scope, stands: readonly Stand[] = []): Promise<Reader> {
    return new Reader(scope, stands, [await freePort(), await freePort()]);
  }

  private constructor(scope: Scope, stands: readonly Stand[], [port, receiverPort]: [number, number]) {
    this.#scope = scope;
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), 'postrider-docs-')));
    scope.after(async () => rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
    for (const name of CLONED) cpSync(join(ROOT, name), join(this.folder, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
    mkdirSync(join(this.folder, 'var/lib'), { recursive: true });
    this.#stands = [
      ...stands,
      ['/var/lib/', `${this.folder}/var/lib/`],
      [':8383', `:${port}`],
      [':8384', `:${receiverPort}`],
      ['postrider receive', `postrider receive --port ${receiverPort}`],
    ];
    // Of what runs these tests nothing may reach what is tested.
    const outer = Object.entries(environmentOf({ PORT: String(port) }));
    this.#environment = Object.fromEntries(outer.filter(([name]) => !/^(npm_|NODE_|INIT_CWD$)/i.test(name)));
    // The clones have their node_modules in common, and with it the compiled code, wherever each of them is.
    this.#environment['NODE_COMPILE_CACHE_PORTABLE'] = '1';
    // Nor of what the user has logged in to.
    this.#environment['XDG_CONFIG_HOME'] = join(this.folder, 'config');
    this.#environment['NO_COLOR'] = '1';
    this.#environment['POSTRIDER_URL'] = `http://127.0.0.1:${port}`;
    this.shell = this.#openTerminal();
  }

  /** Follows lines one after the other; resolves with what they printed. A server is left running. */
  async follow(lines: readonly string[], options: { inNewTerminal?: boolean } = {}): Promise<string> {
    const shell = options.inNewTerminal === true ? this.#openTerminal() : this.shell;
    let printed = '';
    for (const line of lines.filter((one) => one.trim() !== '')) {
      const filled = this.#fill(line);
      if (SERVER.test(line)) printed += await this.#startServer(shell, filled);
      else printed += await shell.run(filled);
      assert.doesNotMatch(printed, /"error":\{/, filled);
      this.#remember(printed);
    }
    return printed;
  }

  /** As Ctrl-C does. */
  async stopServer(): Promise<void> {
    await this.#server?.run('kill $SERVER && wait $SERVER');
    this.#server = null;
  }

  /** With the key that was shown last. */
  get api(): Api {
    const key = this.#shown.get('pr_test_')!;
    const activity = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 50));
    };
    return new Api({ url: this.url, key, activity });
  }

  /** Where the service that runs prints. */
  get server(): Shell {
    assert.ok(this.#server !== null, 'no service runs');
    return this.#server;
  }

  async #startServer(shell: Shell, line: string): Promise<string> {
    await this.stopServer();
    this.#server = shell;
    const from = shell.output.length;
    await shell.run(`${line.replace(/ +#.*/, '')} & SERVER=$!`);
    this.url = (await shell.until(LISTENING, from))[1]!;
    // What is said after the address comes in the same breath, and its end cannot be told otherwise.
    await shell.run('true');
    return shell.output.slice(from);
  }

  #fill(line: string): string {
    const here = this.#stands.reduce((text, [said, stand]) => text.replaceAll(said, stand), line);
    return here.replaceAll(PLACEHOLDER, (placeholder, kind: string) => {
      const shown = this.#shown.get(kind);
      assert.ok(shown !== undefined, `nothing has shown what stands for ${placeholder} in: ${line}`);
      return shown;
    });
  }

  #remember(printed: string): void {
    for (const [text, kind] of printed.matchAll(SHOWN)) this.#shown.set(kind!, text);
  }

  #openTerminal(): Shell {
    const name = `terminal-${(this.#terminals += 1)}`;
    const shell = new Shell({ folder: this.folder, name, environment: this.#environment });
    this.#scope.after(async () => shell.kill());
    return shell;
  }
}

/** Below those that systems give to outgoing connections: nobody else gets it by chance. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
