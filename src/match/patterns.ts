// Which patterns match which event types. `P.*` is P and exactly one more segment, `P.**` P and one or more;
// neither matches P itself; `**` matches every event type.

/** The patterns that match an event type, at most 12: the type, its parent's `.*`, each prefix's `.**`, and `**`. */
export function listPatternsFor(type: string): string[] {
  const patterns = ['**', type, `${type.slice(0, type.lastIndexOf('.'))}.*`];
  for (let dot = type.indexOf('.'); dot !== -1; dot = type.indexOf('.', dot + 1)) {
    patterns.push(`${type.slice(0, dot)}.**`);
  }
  return patterns;
}
