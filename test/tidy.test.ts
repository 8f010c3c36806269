// The house rules (ARCHITECTURE.md: layout, who imports whom), held against the tree. Every rule is a function from
// files to violations, and is first shown to work: in its samples it must report exactly the lines marked `//!`.
// What each reports says where and what to do; there are no exceptions but the ones named here.

import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { describe, test } from 'node:test';
import { listDeadExports } from './tidy/exports.ts';
import {
  cyclesIn,
  dotted,
  importsOfPackages,
  importsWithin,
  isCode,
  isNode,
  isSource,
  lineAt,
  nameOf,
  nodesOf,
  parse,
  reachedFrom,
  tree,
  type Files,
  type Node,
} from './tidy/source.ts';

type Report = (file: string, at: number | Node, message: string) => void;
type Rule = { name: string; check: (files: Files, report: Report) => void; samples: Files[] };

// ── the rules ────────────────────────────────────────────────────────────────────────────────────────────────────────

const STORE = 'store/store.ts';
const MASTER_KEY = 'store/master-key.ts';
const CLUSTER_STORE = 'store/cluster-store.ts';
const ROWS = 'store/rows';
const ADAPTERS = ['store/sqlite', 'store/postgres'];
/** How PostgreSQL is connected to, by an address as DATABASE_URL has it. */
const WIRE = ['connections', 'database-address', 'errors'].map((file) => `store/postgres/wire/${file}.ts`);
const PATH = [
  'accept',
  'configuration',
  'match',
  'dispatch',
  'attempt',
  'record',
  'maintain',
  'stats',
  'stream',
  'operate',
  'notices',
  'api',
  'cluster',
];

/** Who may import whom, in src/. A room is a folder, or a file that has a row of its own; each may import itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  json: [],
  runtime: ['model'],
  match: ['model', 'runtime', 'json'],
  attempt: ['model', 'runtime'],
  [STORE]: ['model', CLUSTER_STORE],
  [CLUSTER_STORE]: ['model'],
  store: ['model', 'runtime', STORE, MASTER_KEY, ROWS],
  [MASTER_KEY]: ['runtime', STORE],
  // What rows of every adapter have in common: pure, and neither knows SQL nor an adapter.
  [ROWS]: ['model', 'runtime', STORE],
  'store/sqlite': ['model', 'runtime', STORE, MASTER_KEY, ROWS],
  'store/postgres': ['model', 'runtime', STORE, CLUSTER_STORE, ROWS],
  record: ['model', 'runtime', STORE],
  maintain: ['model', 'runtime', STORE],
  tracing: ['model'],
  stats: ['model', 'runtime', STORE],
  notices: ['model', 'runtime', STORE],
  configuration: ['model', 'runtime', STORE, 'match'],
  accept: ['model', 'runtime', STORE, 'json', 'match', 'configuration'],
  operate: ['model', 'runtime', STORE, 'accept', 'configuration'],
  dispatch: ['model', 'runtime', STORE, 'attempt', 'record'],
  cluster: ['model', 'runtime', STORE, CLUSTER_STORE],
  stream: ['model', 'runtime', STORE, CLUSTER_STORE],
  relay: ['model', 'runtime', 'sdk', ...WIRE],
  api: ['model', 'runtime', STORE, 'json', 'accept', 'match', 'stats', 'stream', 'operate', 'attempt/guard.ts'],
  'config.ts': ['model', 'attempt/guard.ts', 'tracing/settings.ts', 'package.json'],
  app: ['model', 'runtime', STORE, CLUSTER_STORE, 'store', ...PATH, 'tracing', 'config.ts'],
  cli: ['model', 'runtime', 'app', 'config.ts', STORE, 'store', ...ADAPTERS, 'relay', 'demo', 'sdk'],
  'main.ts': ['cli'],
};

/** Outside things live in one folder each, so that replacing one, or testing without it, touches one folder. */
const HOMES: readonly (readonly [RegExp, string])[] = [
  [/^(fastify|@fastify\/.+|typebox)(\/|$)/, 'api'],
  [/^node:sqlite$/, 'store/sqlite'],
  [/^pg(\/|$)/, 'store/postgres'],
  [/^@opentelemetry\//, 'tracing'],
  [/^(pino|@prometheus-io\/client)(\/|$)/, 'runtime'],
  [/^(node:)?(timers(\/promises)?|perf_hooks)$/, 'runtime'],
];

/** What model/, being pure, may still use of Node. */
const PURE_BUILTINS = /^node:(assert|buffer|crypto|url|util|zlib)(\/|$)/;

const rules: Rule[] = [
  {
    name: 'folders import only what the table allows',
    check(files, report) {
      for (const { from, to, at, lazy, typeOnly } of importsWithin(files)) {
        const [room, target] = [roomOf(from), roomOf(to)];
        const allowed = MAY_IMPORT[room];
        if (allowed === undefined) report(from, at, `src/${room} is in no row of MAY_IMPORT: put the file in a room`);
        else if (room === target || allowed.includes(target) || allowed.includes(to.replace('src/', ''))) continue;
        else if (room === 'store' && ADAPTERS.includes(target)) {
          if (!lazy && !typeOnly) report(from, at, 'load a store adapter by await import(): only one of them is used');
        } else report(from, at, `${room} may not import ${target}: hand it in, or move what is shared`);
      }
    },
    samples: [
      {
        'src/model/a.ts': "import { b } from './b.ts';\nimport type { C } from '../runtime/clock.ts'; //!",
        'src/api/a.ts':
          "import '../attempt/guard.ts';\nimport '../attempt/send.ts'; //!\nimport '../dispatch/a.ts'; //!",
        'src/store/store.ts': "export type { A } from '../model/a.ts';\nexport * from './sqlite/a.ts'; //!",
        'src/store/open.ts':
          "await import('./sqlite/a.ts');\nimport type { A } from './sqlite/a.ts';\nimport './sqlite/a.ts'; //!",
        'src/store/sqlite/a.ts': "import '../store.ts';\nimport '../postgres/a.ts'; //!\nimport '../open.ts'; //!",
        'src/attempt/a.ts':
          "export type A = import('../record/a.ts').B; //!\nnew Worker(new URL('../api/a.ts', import.meta.url)); //!",
        'src/cli/a.ts': "import '../app/app.ts';\nimport '../../sdk/src/client.ts';\nimport '../accept/a.ts'; //!",
        'src/config.ts': "import p from '../package.json' with { type: 'json' };\nimport '../test/a.ts'; //!",
        'src/newroom/a.ts': "import '../model/a.ts'; //!",
      },
    ],
  },
  {
    name: 'what is exported is imported somewhere',
    check(files, report) {
      for (const { file, name, at, isImportedElsewhere } of listDeadExports(files)) {
        if (!isImportedElsewhere) report(file, at, `nothing imports ${name}: keep it to the file, or remove it`);
      }
    },
    samples: [
      {
        'src/model/a.ts':
          'export const a = 1;\nexport type B = 2; //!\nexport const c = 3;\nexport function d() {} //!',
        'src/model/b.ts': "import { a } from './a.ts';\nconst b = a;",
        'test/model/a.test.ts': "import { c } from '../../src/model/a.ts';\nfunction d() {}\nd(c);",
      },
      { 'src/cli/a.ts': "const { e } = await import('./e.ts');", 'src/cli/e.ts': 'export const e = 1;' },
    ],
  },
  {
    name: 'outside things live in one folder each',
    check(files, report) {
      for (const { from, to, at } of importsOfPackages(files)) {
        const home = HOMES.find(([pattern]) => pattern.test(to))?.[1];
        if (home !== undefined && roomOf(from) !== home) report(from, at, `${to} belongs in src/${home} only`);
        if (roomOf(from) === 'model' && !PURE_BUILTINS.test(to))
          report(from, at, `model/ is pure: it may not use ${to}`);
      }
    },
    samples: [
      {
        'src/api/a.ts':
          "import 'fastify';\nimport '@fastify/type-provider-typebox';\nimport 'pg'; //!\nimport 'pino'; //!",
        'src/cli/a.ts': "import { Type } from 'typebox'; //!\nawait import('fastify'); //!\nimport 'node:sqlite'; //!",
        'src/store/sqlite/a.ts': "import 'node:sqlite';\nimport 'pg'; //!\nimport 'timers/promises'; //!",
        'src/model/a.ts': "import 'node:crypto';\nimport 'node:fs'; //!\nimport 'ipaddr.js'; //!",
      },
    ],
  },
  {
    name: 'process.env is read in config.ts only',
    check(files, report) {
      for (const [file, node] of nodesOf(files, (name) => isSource(name) && name !== 'src/config.ts')) {
        if (readsEnvironment(node)) report(file, node, 'read settings through config.ts');
      }
    },
    samples: [
      {
        'src/config.ts': 'export const port = process.env.PORT;',
        'src/cli/a.ts':
          "const a = process.env.A; //!\nconst { env } = process; //!\nimport { env as e } from 'node:process'; //!",
        'src/cli/b.ts': "// process.env\nconst text = 'process.env';\nprocess.exit(text.length);",
      },
    ],
  },
  {
    name: 'clock, timers and randomness come from runtime/',
    check(files, report) {
      for (const [file, node, parent, key] of nodesOf(files, (name) => /^src\/(?!runtime\/)/.test(name))) {
        const name = nondeterministic(node, parent, key);
        if (name !== null)
          report(file, node, `${name}: take the clock, loop or random source of runtime/ as an argument`);
      }
    },
    samples: [
      {
        'src/runtime/a.ts':
          'export const now = () => Date.now() + Math.random() + performance.now();\nsetTimeout(now, 1);',
        'src/record/a.ts':
          'Date.now(); //!\nnew Date(); //!\nnew Date(5);\nDate(); //!\nMath.random(); //!\nperformance.now(); //!',
        'src/cli/a.ts':
          'setTimeout(f, 1); //!\nconst later = globalThis.setInterval; //!\nqueue.push(setImmediate); //!',
        'src/attempt/a.ts':
          'socket.setTimeout(5);\nconst o = { setTimeout: 1 };\nAbortSignal.timeout(5); //!\nprocess.hrtime(); //!',
        'src/accept/a.ts': "import { createHash, randomBytes } from 'node:crypto'; //!\ncrypto.randomUUID(); //!",
        'src/api/a.ts': "import { randomDigits } from '../runtime/random.ts';\ntype T = typeof setTimeout;",
      },
    ],
  },
  {
    name: 'no import cycles',
    check(files, report) {
      for (const cycle of cyclesIn(importsWithin(files))) {
        const last = cycle.at(-1)!;
        report(last.from, last.at, `import cycle: ${cycle.map(({ from }) => from).join(' → ')} → ${last.to}`);
      }
    },
    samples: [
      {
        'src/match/a.ts': "import './b.ts';\nimport './d.ts';",
        'src/match/b.ts': "import type { C } from './c.ts';\nimport './d.ts';",
        'src/match/c.ts': "import './a.ts'; //!",
        'src/match/d.ts': '',
      },
    ],
  },
  {
    name: 'no dead files: src/main.ts reaches every file',
    check(files, report) {
      const reached = reachedFrom('src/main.ts', importsWithin(files));
      if (!('src/main.ts' in files)) return;
      for (const file of Object.keys(files).filter(isSource)) {
        if (!reached.has(file)) report(file, 1, 'nothing imports this file: use it or delete it');
      }
    },
    samples: [
      {
        'src/main.ts': "import type { A } from './cli/a.ts';\nconst lazy = () => import('./cli/b.ts');",
        'src/cli/a.ts': "new Worker(new URL('./thread.ts', import.meta.url));",
        'src/cli/b.ts': "const url = new URL('./other.ts', import.meta.url);",
        'src/cli/thread.ts': '',
        'src/cli/other.ts': '',
        'src/cli/c.ts': "//!\nimport './d.ts';",
        'src/cli/d.ts': '//!',
        'test/a.test.ts': "import '../src/cli/c.ts';",
      },
    ],
  },
  {
    name: 'files that comments and documents name are there',
    check(files, report) {
      const known = Object.keys(files);
      const isThere = (named: string): boolean => known.some((file) => file === named || file.endsWith(`/${named}`));
      for (const [file, text] of Object.entries(files)) {
        if (!/\.(md|ts)$/.test(file) || file === 'CHANGELOG.md') continue;
        for (const [index, line] of text.split('\n').entries()) {
          if (file.endsWith('.ts') && !/^\s*(\/\/|\/?\*)/.test(line)) continue;
          for (const [named] of line.matchAll(/(?<![\w./*-])\w[\w./-]*\.ts\b/g)) {
            if (!isThere(named)) report(file, index + 1, `there is no ${named}`);
          }
        }
      }
    },
    samples: [
      {
        'src/api/a.ts': "// Made by b.ts, as api/b.ts says.\n// Made by c.ts. //!\nconst d = './d.ts';",
        'src/api/b.ts': '/** See match/b.ts. //! */',
        'docs/a.md': 'Look at `a.ts`.\nLook at `src/api/d.ts`. //!',
      },
    ],
  },
  {
    name: 'files are named for what they export',
    check(files, report) {
      for (const file of Object.keys(files).filter(isCode)) {
        const bad = file.split('/').find((part) => /^(utils?|helpers?|common|types|interfaces)(\.|$)/.test(part));
        if (bad !== undefined)
          report(file, 1, `"${bad}" says nothing: name it for its contents, beside their only maker`);
      }
    },
    samples: [
      { 'src/utils/a.ts': '//!', 'src/api/types.ts': '//!', 'test/helpers.ts': '//!', 'src/api/event-types.ts': '' },
      { 'src/common.ts': '//!', 'src/match/interfaces.ts': '//!', 'src/match/helper.test.ts': '//!' },
    ],
  },
  {
    name: 'no barrels: a file does not only pass on what others export',
    check(files, report) {
      for (const file of Object.keys(files).filter(isCode)) {
        const { body } = parse(file, files[file]!);
        const exports = body.filter(({ type }) => /^Export(All|Named)/.test(type));
        const makes = body.some(
          (node) => !/^(Import|Export(All|Named))/.test(node.type) || isNode(node['declaration']),
        );
        if (exports.length > 0 && !makes) report(file, exports[0]!, 'import from the file that makes it');
      }
    },
    samples: [
      {
        'src/api/a.ts': "// All of it.\nexport * from './b.ts'; //!\nexport { c } from './c.ts';",
        'src/api/b.ts': "import { c } from './c.ts';\nexport { c }; //!",
        'src/api/c.ts': "export { b } from './b.ts';\nexport const c = 1;",
        'src/main.ts': "import './app.ts';",
      },
    ],
  },
  {
    name: 'no default exports',
    check(files, report) {
      for (const [file, node] of nodesOf(files, isCode)) {
        const exported = node.type === 'ExportSpecifier' ? (node['exported'] as Node)['name'] : null;
        if (node.type === 'ExportDefaultDeclaration' || exported === 'default') {
          report(file, node, 'export it by name: then it has the same name everywhere');
        }
      }
    },
    samples: [
      {
        'src/api/a.ts': 'export default class A {} //!',
        'src/api/b.ts': 'const b = 1;\nexport { b as default }; //!',
        'src/api/c.ts': "export const c = 'export default';",
      },
    ],
  },
  {
    name: 'files have at most 500 lines',
    check(files, report) {
      for (const file of Object.keys(files).filter((name) => isCode(name) || name.endsWith('.sql'))) {
        const lines = files[file]!.trimEnd().split('\n').length;
        if (lines > 500) report(file, 501, `${lines} lines: split it where its subject changes`);
      }
    },
    samples: [{ 'src/api/a.ts': `${'a();\n'.repeat(500)}a(); //!\n`, 'test/a.test.ts': 'a();\n'.repeat(500) }],
  },
  {
    name: 'functions have at most 70 lines',
    check(files, report) {
      for (const [file, node] of nodesOf(files, (name) => isCode(name) && !name.startsWith('test/'))) {
        if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) continue;
        const lines = lineAt(files[file]!, node.end) - lineAt(files[file]!, node.start) + 1;
        if (lines > 70) report(file, node, `a function of ${lines} lines: give its steps names`);
      }
    },
    samples: [
      { 'src/api/a.ts': `export function a<T>(t: T): T { //!\n${'  a(t);\n'.repeat(69)}}\n` },
      { 'src/api/a.ts': `class A {\n  b = async () => { //!\n${'b();\n'.repeat(69)}};\n}` },
      { 'src/api/a.ts': `class A {\n  get a(): 1 { //!\n${'b();\n'.repeat(69)}}\n}` },
      { 'src/api/a.ts': `function a() {\n${'  a();\n'.repeat(68)}}\n${'a();\n'.repeat(99)}` },
    ],
  },
  {
    name: 'classes have at most 12 fields and 20 methods',
    check(files, report) {
      for (const [file, node] of nodesOf(files, isSource)) {
        if (node.type !== 'ClassDeclaration') continue;
        const members = (node['body'] as Node)['body'] as Node[];
        const count = (kind: string): number => members.filter(({ type }) => type === kind).length;
        const [fields, methods] = [count('PropertyDefinition'), count('MethodDefinition')];
        if (fields <= 12 && methods <= 20) continue;
        report(file, node, `${fields} fields, ${methods} methods: make a class of what answers one question`);
      }
    },
    samples: [
      { 'src/api/a.ts': `export class A { //!\n${Array.from({ length: 13 }, (_, i) => `  a${i} = 1;\n`).join('')}}\n` },
      { 'src/api/a.ts': `class A { //!\n${Array.from({ length: 21 }, (_, i) => `  a${i}() {}\n`).join('')}}\n` },
      { 'src/api/a.ts': `class A {\n${Array.from({ length: 20 }, (_, i) => `  a${i}() {}\n`).join('')}b = 1;}\n` },
    ],
  },
  {
    name: 'lines have at most 120 characters',
    check(files, report) {
      for (const file of Object.keys(files).filter((name) => isCode(name) || /\.sql$|^(bin|scripts)\//.test(name))) {
        for (const [index, line] of files[file]!.split('\n').entries()) {
          if (line.length > 120) report(file, index + 1, 'longer than 120 characters: break it');
        }
      }
    },
    samples: [
      {
        'src/a.ts': `${'é'.repeat(120)}\n${'x'.repeat(117)} //!`,
        'scripts/a': `#!/bin/sh\n${'x'.repeat(117)} //!`,
        'docs/a.md': 'x'.repeat(121),
      },
    ],
  },
  {
    name: 'nothing names one machine: no local paths, no package registry hosts',
    check(files, report) {
      for (const [file, text] of Object.entries(files)) {
        for (const [index, line] of text.split('\n').entries()) {
          if (LOCAL_PATH.test(line)) report(file, index + 1, 'a path of one machine: make it relative to the project');
          if (isSource(file) && /['"`]\/tmp\//.test(line)) report(file, index + 1, 'use mkdtemp below os.tmpdir()');
          if (REGISTRY.test(line))
            report(file, index + 1, 'a package registry host: leave it to the reader’s own npm settings');
          // A package of this repository comes from its folder.
          if (file === 'package-lock.json' && /"resolved":(?! "file:test\/)/.test(line)) {
            report(file, index + 1, 'run npm install with the .npmrc of this project, which leaves addresses out');
          }
        }
      }
    },
    samples: [
      {
        'README.md': `cd ${local('work', 'main')} //!\n[CI](.github/workflows/ci.yml)\nhttps://example.com/work/x`,
        'src/api/a.ts': `f('${local('root', 'x')}'); //!\nf("${local('Users', 'me')}"); //!\nf('${local('tmp')}'); //!`,
        'docs/a.md': `at https://${['registry', 'npmjs', 'org'].join('.')}/x //!`,
        'package-lock.json':
          '"version": "1.0.0",\n"resolved": "https://example.com/a.tgz" //!\n"resolved": "file:test/a",',
      },
    ],
  },
];

/** The start of a local path, for samples: written out it would break the rule it is there to show. */
function local(...folders: string[]): string {
  return `/${folders.join('/')}/`;
}

const LOCAL_PATH = /(?<![\w.~*-])\/(?:work|root|(?:home|Users)\/[\w-]+)\//;
const REGISTRY =
  /\b(?:registry\.(?:npmjs|yarnpkg|npmmirror)\.|npm\.pkg\.github\.|pypi\.org|(?:index|static)\.crates\.io)/;

for (const { name, check, samples } of rules) {
  describe(name, () => {
    test('is caught where it is broken', () => {
      for (const sample of samples) {
        const reported = new Set(violations(sample, check).map(({ place }) => place));
        assert.deepEqual([...reported].toSorted(), markedLines(sample).toSorted());
      }
    });
    test('holds', () => {
      const found = violations(tree(), check).map(({ place, message }) => `${place} ${message}`);
      if (found.length > 0) assert.fail(found.join('\n'));
    });
  });
}

function markedLines(sample: Files): string[] {
  return Object.entries(sample).flatMap(([file, text]) =>
    text.split('\n').flatMap((line, index) => (line.includes('//!') ? [`${file}:${index + 1}`] : [])),
  );
}

function violations(files: Files, check: Rule['check']): { place: string; message: string }[] {
  const found: { file: string; line: number; message: string }[] = [];
  check(files, (file, at, message) => {
    found.push({ file, line: typeof at === 'number' ? at : lineAt(files[file]!, at.start), message });
  });
  found.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  return found.map(({ file, line, message }) => ({ place: `${file}:${line}`, message }));
}

/** The row of MAY_IMPORT that a file belongs to (the longest that fits), or the top name of what lies outside src/. */
function roomOf(file: string): string {
  if (!file.startsWith('src/')) return file.split('/')[0]!;
  const path = file.slice('src/'.length);
  for (let room = path; room !== '.'; room = posix.dirname(room)) if (room in MAY_IMPORT) return room;
  return path.split('/')[0]!;
}

function readsEnvironment(node: Node): boolean {
  if (dotted(node) === 'process.env') return true;
  const names = (list: unknown, key: string): unknown[] =>
    (list as Node[]).map((item) => (isNode(item[key]) ? item[key]['name'] : null));
  if (node.type === 'VariableDeclarator' && (node['init'] as Node | null)?.['name'] === 'process') {
    return names((node['id'] as Node)['properties'] ?? [], 'key').includes('env');
  }
  if (node.type !== 'ImportDeclaration' || !/^(node:)?process$/.test(String((node['source'] as Node)['value'])))
    return false;
  return names(node['specifiers'], 'imported').includes('env');
}

const CLOCKS = /^(Date\.now|performance\..+|process\.hrtime|Temporal\.Now|AbortSignal\.timeout|Math\.random)$/;
const RANDOM = /^(random|getRandomValues$|webcrypto$)/;
const TIMERS = /^(setTimeout|setInterval|setImmediate)$/;

/** What a node takes from the world's clock, timers or randomness, or null. */
function nondeterministic(node: Node, parent: Node | null, key: string): string | null {
  const member = dotted(node);
  if (member !== null) {
    const [object, property] = member.split('.') as [string, string];
    if (CLOCKS.test(member) || (object === 'crypto' && RANDOM.test(property))) return member;
    return object === 'globalThis' && TIMERS.test(property) ? member : null;
  }
  if (/^(New|Call)Expression$/.test(node.type) && (node['callee'] as Node)['name'] === 'Date') {
    return node.type === 'CallExpression' || (node['arguments'] as Node[]).length === 0 ? 'Date()' : null;
  }
  if (node.type === 'ImportSpecifier') {
    const fromCrypto = /^(node:)?crypto$/.test(String((parent!['source'] as Node)['value']));
    return fromCrypto && RANDOM.test(nameOf(node['imported'])) ? nameOf(node['imported']) : null;
  }
  if (node.type !== 'Identifier' || !TIMERS.test(nameOf(node))) return null;
  const isOnlyAName = (key === 'property' || key === 'key') && parent?.['computed'] !== true;
  return isOnlyAName || /^(TSTypeQuery|TSQualifiedName|Import.*)$/.test(parent?.type ?? '') ? null : nameOf(node);
}
