// What the house rules look at: the project's files, their imports and their syntax. oxc-parser reads TypeScript as it
// is, so types count too; strings and comments never do.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';

/** Path from the project's root → text. */
export type Files = Readonly<Record<string, string>>;
export type Node = { type: string; start: number; end: number; [key: string]: unknown };
/** `to` is a path from the root, or what was written where that is a package. */
export type Import = { from: string; to: string; at: Node; lazy: boolean; typeOnly: boolean };

const root = fileURLToPath(new URL('../..', import.meta.url));

// ── the tree ─────────────────────────────────────────────────────────────────────────────────────────────────────────

let read: Files | undefined;

/** Every text file that git tracks or would track; outside a git checkout, every text file but the ignored folders. */
export function tree(): Files {
  read ??= Object.fromEntries(
    (listedByGit() ?? listedByHand())
      .filter((file) => existsSync(join(root, file)) && statSync(join(root, file)).isFile())
      .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const)
      .filter(([, text]) => !text.includes('\0')),
  );
  assert.ok('test/tidy.test.ts' in read, 'the list of files is not complete');
  return read;
}

function listedByGit(): string[] | null {
  try {
    const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return list.split('\0').filter((file) => file !== '');
  } catch {
    return null;
  }
}

function listedByHand(): string[] {
  return readdirSync(root)
    .filter((name) => !/^(\.git|\.install-lock|node_modules|data)$|\.log$/.test(name))
    .flatMap((name) =>
      statSync(join(root, name)).isFile()
        ? [name]
        : readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((below) => posix.join(name, below)),
    )
    .filter((file) => !file.includes('node_modules/'));
}

export function isSource(file: string): boolean {
  return file.startsWith('src/') && file.endsWith('.ts');
}

export function isCode(file: string): boolean {
  // The client's types are generated, in one long file.
  return /^(src|demo|test|scripts|bench|sdk\/typescript)\/.*\.ts$/.test(file) && !file.endsWith('/src/schema.ts');
}

// ── imports ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export function importsWithin(files: Files, wanted = isSource): Import[] {
  return importsOf(files, wanted)
    .filter(({ to }) => to.startsWith('.'))
    .map((found) => ({ ...found, to: posix.join(posix.dirname(found.from), found.to) }));
}

export function importsOfPackages(files: Files): Import[] {
  return importsOf(files, isSource).filter(({ to }) => !to.startsWith('.'));
}

/** Every way one of the files wanted names another: import, export from, import(), import types, and worker threads. */
function importsOf(files: Files, wanted: (file: string) => boolean): Import[] {
  const found: Import[] = [];
  for (const [from, node] of nodesOf(files, wanted)) {
    const source = isNode(node['source']) ? node['source'] : threadFile(node);
    const to = source?.['value'];
    if (typeof to !== 'string') continue;
    const typeOnly = node['importKind'] === 'type' || node['exportKind'] === 'type' || node.type === 'TSImportType';
    found.push({ from, to, at: node, lazy: node.type === 'ImportExpression', typeOnly });
  }
  return found;
}

/** './x.ts' of new URL('./x.ts', import.meta.url), which is how a worker thread's file is named. */
function threadFile(node: Node): Node | null {
  if (node.type !== 'NewExpression' || nameOf(node['callee']) !== 'URL') return null;
  const [file] = node['arguments'] as Node[];
  return isNode(file) && /^\.{1,2}\/.*\.ts$/.test(String(file['value'])) ? file : null;
}

export function reachedFrom(start: string, imports: Import[]): Set<string> {
  const reached = new Set([start]);
  for (const file of reached) for (const { from, to } of imports) if (from === file) reached.add(to);
  return reached;
}

/** One path of imports for each import that closes a cycle, found depth first. */
export function cyclesIn(imports: Import[]): Import[][] {
  const byFile = Map.groupBy(imports, ({ from }) => from);
  const done = new Set<string>();
  const cycles: Import[][] = [];
  const visit = (file: string, path: Import[]): void => {
    const start = path.findIndex(({ from }) => from === file);
    if (start >= 0) cycles.push(path.slice(start));
    if (start >= 0 || done.has(file)) return;
    for (const next of byFile.get(file) ?? []) visit(next.to, [...path, next]);
    done.add(file);
  };
  for (const file of byFile.keys()) visit(file, []);
  return cycles;
}

// ── syntax ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const parsed = new Map<string, { body: Node[] }>();

export function parse(file: string, text: string): { body: Node[] } {
  const key = `${file}\n${text}`;
  const known = parsed.get(key);
  if (known !== undefined) return known;
  const { program, errors } = parseSync(file, text);
  assert.deepEqual(errors, [], `${file} does not parse`);
  const fresh = program as unknown as { body: Node[] };
  parsed.set(key, fresh);
  return fresh;
}

/** Every syntax node of the files wanted, with its parent and the member of the parent that holds it. */
export function* nodesOf(
  files: Files,
  wanted: (file: string) => boolean,
): Generator<[file: string, node: Node, parent: Node | null, key: string]> {
  for (const file of Object.keys(files).filter((name) => isCode(name) && wanted(name))) {
    for (const statement of parse(file, files[file]!).body) {
      const open: [Node, Node | null, string][] = [[statement, null, 'body']];
      for (let next = open.pop(); next !== undefined; next = open.pop()) {
        yield [file, ...next];
        const [node] = next;
        for (const [key, value] of Object.entries(node)) {
          for (const child of [value].flat()) if (isNode(child)) open.push([child, node, key]);
        }
      }
    }
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** 'a.b' for a member access on a plain name, in whatever notation; otherwise null. */
export function dotted(node: Node): string | null {
  if (node.type !== 'MemberExpression') return null;
  const [object, property] = [node['object'] as Node, node['property'] as Node];
  return `${String(object['name'])}.${String(node['computed'] === true ? property['value'] : property['name'])}`;
}

export function nameOf(node: unknown): string {
  return isNode(node) ? String(node['name']) : '';
}
