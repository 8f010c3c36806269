// Functions, classes, interfaces and exports, as the syntax has them.
import { isNode, isSource, lineAt, nameOf, nodesOf, type Files, type Node } from '../../test/tidy/source.ts';

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

export function describeFunctions(files: Files): { summary: string; longest: string[] } {
  const found: { lines: number; where: string }[] = [];
  for (const [file, node] of nodesOf(files, isSource)) {
    if (!FUNCTIONS.has(node.type) || !isNode(node['body'])) continue;
    const text = files[file]!;
    const lines = text.slice(node.start, node.end).split('\n').length;
    found.push({ lines, where: `${file}:${lineAt(text, node.start)}` });
  }
  const sorted = found.toSorted((a, b) => a.lines - b.lines);
  const at = (part: number) => sorted[Math.floor(sorted.length * part)]!.lines;
  return {
    summary: `${at(0.5)}, ${at(0.9)}, ${sorted.at(-1)!.lines} (of ${sorted.length})`,
    longest: sorted.slice(-10).map(({ lines, where }) => `${lines} ${where}`),
  };
}

export function describeClasses(files: Files): { summary: string; all: string[] } {
  const found: { name: string; fields: number; methods: number }[] = [];
  for (const [, node] of nodesOf(files, isSource)) {
    if (node.type !== 'ClassDeclaration') continue;
    const members = (node['body'] as Node)['body'] as Node[];
    found.push({
      name: nameOf(node['id']),
      fields: members.filter(({ type }) => type === 'PropertyDefinition').length,
      methods: members.filter(({ type }) => type === 'MethodDefinition').length,
    });
  }
  const most = (key: 'fields' | 'methods') => found.toSorted((a, b) => b[key] - a[key])[0]!;
  const [fields, methods] = [most('fields'), most('methods')];
  return {
    summary: `${fields.fields} (${fields.name}), ${methods.methods} (${methods.name})`,
    all: found.toSorted((a, b) => b.methods - a.methods).map((one) => `${one.name}: ${one.fields}, ${one.methods}`),
  };
}

/** Interfaces, and types of nothing but functions, that one class, function or constant makes at most. */
export function listSingleInterfaces(files: Files): string[] {
  const declared = new Map<string, string>();
  const makers = new Map<string, number>();
  const count = (name: string): void => void makers.set(name, (makers.get(name) ?? 0) + 1);
  for (const [file, node] of nodesOf(files, isSource)) {
    if (isOfMethods(node)) declared.set(nameOf(node['id']), file);
    for (const name of implementedBy(node)) count(name);
  }
  return [...declared].filter(([name]) => (makers.get(name) ?? 0) <= 1).map(([name, file]) => `${name} (${file})`);
}

function isOfMethods(node: Node): boolean {
  const alias = node.type === 'TSTypeAliasDeclaration' ? (node['typeAnnotation'] as Node) : null;
  const members =
    node.type === 'TSInterfaceDeclaration'
      ? ((node['body'] as Node)['body'] as Node[])
      : alias?.type === 'TSTypeLiteral'
        ? (alias['members'] as Node[])
        : [];
  const methods = members.filter(
    (member) =>
      member.type === 'TSMethodSignature' ||
      ((member['typeAnnotation'] as Node | null)?.['typeAnnotation'] as Node | undefined)?.type === 'TSFunctionType',
  );
  // A bag of options with one callback in it is no interface.
  return methods.length > 0 && (node.type === 'TSInterfaceDeclaration' || methods.length === members.length);
}

function implementedBy(node: Node): string[] {
  if (node.type === 'ClassDeclaration') {
    return ((node['implements'] ?? []) as Node[]).map(({ expression }) => nameOf(expression));
  }
  if (node.type === 'FunctionDeclaration') return typeNames(node['returnType']);
  if (node.type === 'VariableDeclarator') return typeNames((node['id'] as Node)['typeAnnotation']);
  return [];
}

function typeNames(annotation: unknown): string[] {
  if (!isNode(annotation)) return [];
  const type = annotation['typeAnnotation'] as Node;
  return type.type === 'TSTypeReference' ? [nameOf(type['typeName'])] : [];
}
