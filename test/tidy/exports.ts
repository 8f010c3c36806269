// Exports that nothing imports: what a file offers is then larger than what it is asked for.
import { importsWithin, isNode, isSource, nameOf, nodesOf, type Files, type Node } from './source.ts';

/** `isImportedElsewhere`: by a test, a script, the demo or the bench. */
export type DeadExport = { file: string; name: string; at: Node; isImportedElsewhere: boolean };

/** What no other file of src/ imports. */
export function listDeadExports(files: Files): DeadExport[] {
  const imported = importedBy(files, isSource);
  const elsewhere = importedBy(files, (file) => !isSource(file));
  const dead: DeadExport[] = [];
  for (const [file, node] of nodesOf(files, isSource)) {
    if (node.type !== 'ExportNamedDeclaration' || node['source'] !== null) continue;
    for (const name of exportedNames(node)) {
      const key = `${file}#${name}`;
      if (!imported.has(key)) dead.push({ file, name, at: node, isImportedElsewhere: elsewhere.has(key) });
    }
  }
  return dead;
}

function importedBy(files: Files, wanted: (file: string) => boolean): Set<string> {
  return new Set(importsWithin(files, wanted).flatMap(({ from, to, at }) => importedNames(at, to, files[from]!)));
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
