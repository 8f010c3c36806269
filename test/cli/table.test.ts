// Tables: every row under its header, within the terminal, whatever strangers have put into the cells.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDetails } from '../../src/cli/api/details.ts';
import { sentences, shownJson } from '../../src/cli/output.ts';
import { formatTable } from '../../src/cli/table.ts';
import { JsonText } from '../../sdk/typescript/src/json-text.ts';
import { firstLines, joinWithin, sizeOf, widthOf } from '../../src/cli/terminal.ts';

type Row = { id: string; name: string; scopes: string };

const COLUMNS = [
  { title: 'ID', of: ({ id }: Row) => id },
  { title: 'NAME', of: ({ name }: Row) => name, widthMax: 8 },
  { title: 'SCOPES', of: ({ scopes }: Row) => scopes },
];
const SHORT = { id: 'key_1', name: 'first', scopes: 'read' };

function lines(rows: Row[], width: number | null): string[] {
  return formatTable(COLUMNS, rows, width).split('\n');
}

describe('a table', () => {
  test('has a header, and one line a row where there is room or no terminal', () => {
    const expected = ['ID     NAME   SCOPES', 'key_1  first  read', 'key_2  -      read,publish'];
    const rows = [SHORT, { id: 'key_2', name: '-', scopes: 'read,publish' }];
    assert.deepEqual(lines(rows, null), expected);
    assert.deepEqual(lines(rows, 80), expected);
  });

  test('on a narrow terminal cuts what may be cut, and puts what does not fit below', () => {
    const rows = [SHORT, { id: 'key_2', name: 'a very long name', scopes: 'publish,read,manage' }];
    assert.deepEqual(lines(rows, 24), [
      'ID     NAME',
      'key_1  first',
      '  SCOPES read',
      'key_2  a very …',
      '  SCOPES',
      '    publish,read,manage',
    ]);
    const [, , , , below, ...rest] = lines([SHORT, { ...rows[1]!, scopes: 'a list of words' }], 16);
    assert.deepEqual([below, ...rest], ['  SCOPES a', '    list of', '    words'], 'between words');
    const one = { ...rows[1]!, scopes: 'publish,read,manage,operate' };
    assert.equal(lines([one], 24)[2], '  SCOPES publish,read,manage,operate', 'too long for any line');
    assert.equal(lines(rows, null)[2], 'key_2  a very long name  publish,read,manage', 'whole where nobody looks');
  });

  test('puts nothing below that says nothing', () => {
    const rows = [{ ...SHORT, scopes: '-' }, SHORT];
    assert.deepEqual(lines(rows, 13), ['ID     NAME', 'key_1  first', 'key_1  first', '  SCOPES read']);
  });

  test('puts as much on a line below as there is room for', () => {
    const columns = [...COLUMNS, { title: 'EXPIRES', of: () => 'never' }];
    const rows = [SHORT, { ...SHORT, scopes: 'publish,read' }];
    assert.deepEqual(formatTable(columns, rows, 27).split('\n').slice(1), [
      'key_1  first  read',
      '  EXPIRES never',
      'key_1  first  publish,read',
      '  EXPIRES never',
    ]);
    const joined = formatTable(columns, [{ ...SHORT, id: 'k'.repeat(20) }], 27).split('\n');
    assert.deepEqual(joined.slice(1), [`${'k'.repeat(20)}  first`, '  SCOPES read', '  EXPIRES never']);
    assert.equal(
      formatTable(columns, [{ ...SHORT, id: 'k'.repeat(24) }], 34).split('\n')[2],
      '  SCOPES read  EXPIRES never',
    );
  });

  test('of one thing puts what does not fit beside its name below that', () => {
    const id = 'dst_01m8c1hhc4e009xkv0tpxdg0pe';
    const thing = { id, consecutive_failures: 0, url: 'https://example.com/hooks/of/a/customer' };
    assert.deepEqual(formatDetails(thing, 40).split('\n'), [
      'id',
      `  ${id}`,
      'consecutive_failures  0',
      'url',
      '  https://example.com/hooks/of/a/custome',
      '  r',
    ]);
    assert.equal(formatDetails(thing, 80).split('\n').length, 3);
  });

  test('and figures break between them', () => {
    const figures = ['0.27 events/s', '33.3 % succeed', '0 in flight'];
    assert.deepEqual(joinWithin(figures, { columns: 30, gap: '   ' }), [
      '0.27 events/s   33.3 % succeed',
      '0 in flight',
    ]);
  });

  test('counts columns as a terminal does', () => {
    const rows = [{ ...SHORT, name: '漢字' }, SHORT, { ...SHORT, name: '🎉🎉🎉🎉🎉🎉' }];
    const made = lines(rows, 22);
    assert.deepEqual(made.slice(1, 3), ['key_1  漢字', '  SCOPES read']);
    assert.equal(made[5], 'key_1  🎉🎉🎉…');
    for (const line of made) assert.ok(widthOf(line) <= 22, line);
    for (const [text, columns] of [
      ['𠮷野家', 6],
      ['￥100', 5],
      ['e\u0301', 1],
      ['👩‍👩‍👧‍👦', 2],
      ['❤\ufe0f', 2],
    ] as const) {
      assert.equal(widthOf(text), columns, text);
    }
    const starts = lines(rows, null).map((line) => widthOf(line.slice(0, line.search(/SCOPES|read/))));
    assert.deepEqual(new Set(starts).size, 1, 'the last column begins below its title');
  });

  test('shows what would move the cursor instead of doing it', () => {
    const [, row] = lines([{ ...SHORT, name: '\u001b[2Jx\ny\u202e' }], null);
    assert.equal(row, 'key_1  \\u001b[2Jx y\\u202e  read');
  });
});

describe('a terminal', () => {
  test('that does not know its size is one of 80 × 24', () => {
    const sizes = [
      { isTTY: true, columns: 0, rows: 0 },
      { isTTY: true, columns: 100, rows: 50 },
      { isTTY: false, columns: 0, rows: 0 },
    ].map((stream) => sizeOf(stream as NodeJS.WriteStream));
    assert.deepEqual(sizes, [{ columns: 80, rows: 24 }, { columns: 100, rows: 50 }, null]);
  });

  test('gets sentences broken between words, and whole what is to be copied; all else gets lines as they are', () => {
    const text = 'Ctrl-C ends all of it.\n  whsec_that+is+longer+than+that';
    const on = (stream: object): string => sentences(text, stream as NodeJS.WriteStream);
    assert.equal(
      on({ isTTY: true, columns: 10, rows: 24 }),
      'Ctrl-C\nends all\nof it.\n  whsec_that+is+longer+than+that',
    );
    assert.equal(on({ isTTY: false }), text);
  });

  test('gets JSON of the same value, but nothing that acts on it; all else gets it byte for byte', (t) => {
    const name = 'del \u007f csi \u009b31m nel \u0085 esc \u001b bidi \u202e 漢 🎉 \\u009b';
    const body = new JsonText(`{\r\n\t"name":${JSON.stringify(name)}}`);
    assert.equal(shownJson({ body }), `{"body":${body.text}}`);
    const isTTY = process.stdout.isTTY;
    t.after(() => (process.stdout.isTTY = isTTY));
    process.stdout.isTTY = true;
    const shown = shownJson({ body });
    assert.doesNotMatch(shown, /[\p{Cc}\u202e]/u);
    assert.deepEqual(JSON.parse(shown), { body: { name } });
    assert.ok(shown.includes('漢 🎉'), shown);
  });

  test('that breaks a line shows fewer of them', () => {
    const all = ['head', '', '\u001b[31m0123456789\u001b[39m', '0123456789a', 'last'];
    const shown = (rows: number) => firstLines(all, { columns: 10, rows }).length;
    assert.deepEqual([3, 4, 5, 6].map(shown), [3, 3, 4, 5]);
  });
});
