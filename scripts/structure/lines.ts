// Lines of source, by folder, and how many of them are comments.

export function countLines(files: Readonly<Record<string, string>>) {
  const folders = new Map<string, { files: number; lines: number }>();
  let [total, comments] = [0, 0];
  for (const [file, text] of Object.entries(files)) {
    const lines = text.trimEnd().split('\n');
    const folder = file.slice(0, file.lastIndexOf('/'));
    const known = folders.get(folder) ?? { files: 0, lines: 0 };
    folders.set(folder, { files: known.files + 1, lines: known.lines + lines.length });
    total += lines.length;
    comments += lines.filter((line) => /^\s*(\/\/|\/\*|\*)/.test(line)).length;
  }
  return {
    files: Object.keys(files).length,
    total,
    commentShare: `${((100 * comments) / total).toFixed(1)} %`,
    perFolder: [...folders]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([folder, count]) => `${folder.padEnd(40)} ${count.files} files, ${count.lines} lines`),
  };
}
