// What the pictures are drawn with: text and shapes by class, and one style for all, for light and dark.

export type Drawing = string[];

type Anchor = 'start' | 'middle' | 'end';

const STYLE = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .muted { fill: #59636e; font-size: 12px }
  .grid { stroke: #d1d9e0 }
  .ours { fill: #0969da; stroke: #0969da }
  .other { fill: #8c959f; stroke: #8c959f }
  .hollow { fill: #ffffff; stroke-width: 2 }
  .range { stroke-width: 2; stroke-linecap: round }
  .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .muted { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .ours { fill: #4493f8; stroke: #4493f8 }
    .other { fill: #7d8590; stroke: #7d8590 }
    .paper, .hollow { fill: #0d1117 }
  }
`;

export function svgOf(title: string, { width, height }: { width: number; height: number }, parts: Drawing): string {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-labelledby="title">`,
    `<title id="title">${escape(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

export function text(
  x: number,
  y: number,
  words: string,
  { kind = '', anchor = 'start' }: { kind?: string; anchor?: Anchor } = {},
): string {
  const named = kind === '' ? '' : ` class="${kind}"`;
  return `<text x="${round(x)}" y="${round(y)}"${named} text-anchor="${anchor}">${escape(words)}</text>`;
}

export function line(kind: string, [x1, y1]: readonly [number, number], [x2, y2]: readonly [number, number]): string {
  return `<line class="${kind}" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`;
}

export function bar(kind: string, box: { x: number; y: number; width: number; height: number }): string {
  const { x, y, width, height } = box;
  return `<rect class="${kind}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${height}" rx="2"/>`;
}

export function dot(kind: string, x: number, y: number): string {
  return `<circle class="${kind}" cx="${round(x)}" cy="${round(y)}" r="4"/>`;
}

/** Where a value is on a logarithmic axis. */
export function logScale(
  domain: readonly [number, number],
  range: readonly [number, number],
): (value: number) => number {
  const [low, high] = domain.map(Math.log) as [number, number];
  return (value) => range[0] + ((Math.log(value) - low) / (high - low)) * (range[1] - range[0]);
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escape(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
