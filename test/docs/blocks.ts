// The fenced blocks of the documentation, which the tests here run.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** `line`: of its page, counted from 1. `language`: as after the fence; empty for drawings and the like. */
export type Block = { page: string; line: number; language: string; lines: string[] };

const FENCE = /^( *)```(\w*)$/;

/** Pages by people, by their paths: those below docs/reference are made from the code. */
export function pagesOfDocs(): string[] {
  return ['.', 'docs', 'docs/guides'].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  );
}

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { block: Block; indent: number } | null = null;
  for (const [index, text] of readFileSync(join(ROOT, page), 'utf8').split('\n').entries()) {
    const fence = FENCE.exec(text);
    if (open !== null && fence === null) open.block.lines.push(text.slice(open.indent));
    else if (open !== null) open = null;
    else if (fence !== null) {
      const block = { page, line: index + 1, language: fence[2]!, lines: [] };
      blocks.push(block);
      open = { block, indent: fence[1]!.length };
    }
  }
  return blocks;
}
