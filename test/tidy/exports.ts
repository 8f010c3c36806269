// Exports that nothing imports: what a file offers is then larger than what it is asked for.
import { importsWithin, isCode, isNode, isSource, nameOf, nodesOf } from './source.ts';
import type { Files, Node } from './source.ts';

/** `isNamedElsewhere`: by a test, a script or the bench. */
export type DeadExport = { file: string; name: string; at: Node; isNamedElsewhere: boolean };

/** What no other file of src/ imports. */
export function listDeadExports(files: Files): DeadExport[] {
  const imported = new Set(importsWithin(files).flatMap(({ from, to, at }) => importedNames(at, to, files[from]!)));
  const elsewhere = Object.entries(files)
    .filter(([file]) => isCode(file) && !isSource(file))
    .map(([, text]) => text)
    .join('\n');
  const dead: DeadExport[] = [];
  for (const [file, node] of nodesOf(files, isSource)) {
    if (node.type !== 'ExportNamedDeclaration' || node['source'] !== null) continue;
    for (const name of exportedNames(node)) {
      if (imported.has(`${file}#${name}`)) continue;
      dead.push({ file, name, at: node, isNamedElsewhere: new RegExp(`\\b${name}\\b`).test(elsewhere) });
    }
  }
  return dead;
}

function importedNames(at: Node, to: string, text: string): string[] {
  const specifiers = (at['specifiers'] ?? []) as Node[];
  const names = specifiers.map((one) => nameOf(one['imported'] ?? one['local']));
  if (specifiers.length > 0 && !specifiers.some(({ type }) => type === 'ImportNamespaceSpecifier')) {
    return names.map((name) => `${to}#${name}`);
  }
  // import(), import types and `import * as`: whatever of the file is named anywhere in the importer.
  return [...new Set(text.match(/\b\w+\b/g))].map((name) => `${to}#${name}`);
}

function exportedNames(node: Node): string[] {
  const declaration = node['declaration'];
  if (!isNode(declaration)) return ((node['specifiers'] ?? []) as Node[]).map((one) => nameOf(one['exported']));
  if (declaration.type !== 'VariableDeclaration') return [nameOf(declaration['id'])];
  return (declaration['declarations'] as Node[]).map(({ id }) => nameOf(id));
}
