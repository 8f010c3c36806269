// Text on a terminal: how wide it is, what it must not hold, and where it breaks.
import { stripVTControlCharacters } from 'node:util';

/** What is read without scrolling sideways on any terminal. */
export const COLUMNS = 80;
const ROWS = 24;
/** Of what goes on from the line above. */
const INDENT = '  ';

type Size = { columns: number; rows: number };

/** Of the terminal that the stream is; null: it is none. One that a program has opened may say 0: nobody knows. */
export function sizeOf({ isTTY, columns, rows }: NodeJS.WriteStream): Size | null {
  return isTTY ? { columns: columns === 0 ? COLUMNS : columns, rows: rows === 0 ? ROWS : rows } : null;
}

/** Takes two columns of a terminal, which Node tells nobody. Near enough: nothing but the right edge depends on it. */
const WIDE =
  /\p{EPres}|\uFE0F|\p{sc=Han}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]/u;

const ASCII = /^[\x20-\x7e]*$/;

/** Made when it is first needed: that takes as long as all else that a short command does. */
let segmenter: Intl.Segmenter | undefined;
function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

/** On one line and harmless: what strangers send must not move the cursor or reorder what a terminal shows. */
export function printable(text: string): string {
  return onOneLine(text).replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, escapeOf);
}

/** The same of JSON, which stays JSON of the same value: below U+0020 it has only what may stand between its parts. */
export function printableJson(json: string): string {
  return onOneLine(json).replaceAll(/[\u007F-\u009F\p{Bidi_Control}]/gu, escapeOf);
}

function onOneLine(text: string): string {
  return text.replaceAll(/[\n\r]\s*/g, ' ');
}

/** As JSON has it. */
function escapeOf(char: string): string {
  return `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`;
}

/** Columns that a printable text takes. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmentsOf(text)) width += widthOfSegment(segment);
  return width;
}

/** Filled up with spaces to `width` columns; what is longer ends in `…`. */
export function fit(text: string, width: number): string {
  const missing = width - widthOf(text);
  if (missing >= 0) return text + ' '.repeat(missing);
  const [line = ''] = breakAnywhere(text, { columns: width - 1, linesMax: 1 }).lines;
  return `${line}…${' '.repeat(width - 1 - widthOf(line))}`;
}

/** Breaks between characters as people see them. `taken`: how much of the text is in the lines. */
export function breakAnywhere(
  text: string,
  { columns, linesMax }: { columns: number; linesMax: number },
): { lines: string[]; taken: number } {
  const lines = [''];
  let width = 0;
  let taken = 0;
  for (const { segment, index } of segmentsOf(text.slice(0, columns * (linesMax + 1)))) {
    const segmentWidth = widthOfSegment(segment);
    if (width + segmentWidth > columns) {
      if (lines.length === linesMax) break;
      lines.push('');
      width = 0;
    }
    lines[lines.length - 1] += segment;
    width += segmentWidth;
    taken = index + segment.length;
  }
  return { lines, taken };
}

/** Breaks at spaces; a word that is longer than a line stays whole. */
export function breakAtSpaces(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** As few lines as there is room for. A text that is longer than a line has lines of its own, where spaces allow it. */
export function joinWithin(texts: readonly string[], { columns, gap }: { columns: number; gap: string }): string[] {
  const lines: string[] = [];
  let mayGrow = false;
  for (const text of texts) {
    const longer = `${lines.at(-1)}${gap}${text}`;
    if (mayGrow && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else {
      mayGrow = widthOf(text) <= columns;
      lines.push(...(mayGrow ? [text] : breakIndented(text, columns)));
    }
  }
  return lines;
}

/** A word longer than a line gains nothing by one of its own: its text stays whole, for the terminal to break. */
function breakIndented(text: string, columns: number): string[] {
  const lines = breakAtSpaces(text, columns - INDENT.length);
  if (lines.some((line) => widthOf(line) > columns - INDENT.length)) return [text];
  return lines.map((line, i) => (i === 0 ? line : INDENT + line));
}

/** Those that fit into so many rows of the terminal, which breaks what is wider than it is. */
export function firstLines(lines: readonly string[], { columns, rows }: Size): readonly string[] {
  let left = rows;
  const end = lines.findIndex((line) => {
    left -= breakAnywhere(stripVTControlCharacters(line), { columns, linesMax: rows }).lines.length;
    return left < 0;
  });
  return end === -1 ? lines : lines.slice(0, end);
}

function widthOfSegment(segment: string): number {
  return WIDE.test(segment) ? 2 : 1;
}
