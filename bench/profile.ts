// What a CPU profile of a thread says of a span of time: how much of it went into what. Each sample counts for the
// innermost function that one of the rules knows; what nobody knows is the event loop's own.

/** As V8 writes it. Times in microseconds on the clock of `process.hrtime`. */
export type CpuProfile = {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  startTime: number;
  samples: number[];
  timeDeltas: number[];
};

type CallFrame = { functionName: string; url: string };

/** What a function is part of, by the address of its file. A native function has none: it counts for its caller. */
export type Rule = { part: string; files: RegExp };

const GARBAGE = 'garbage collection';

/** Time of a thread that was not idle, by part, in microseconds. `other`: what no rule knows. */
export function divide(
  profile: CpuProfile,
  { rules, other, from, to }: { rules: readonly Rule[]; other: string; from: number; to: number },
): Map<string, number> {
  const parts = partsOf(profile, rules, other);
  const times = new Map<string, number>();
  let at = profile.startTime;
  for (const [i, sample] of profile.samples.entries()) {
    at += profile.timeDeltas[i]!;
    const part = parts.get(sample);
    if (part === undefined || at < from || at > to) continue;
    times.set(part, (times.get(part) ?? 0) + profile.timeDeltas[i]!);
  }
  return times;
}

/** By node; one that is idle has none. A node without a rule has its caller's. */
function partsOf({ nodes }: CpuProfile, rules: readonly Rule[], other: string): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parts = new Map<number, string>();
  const pending: { id: number; caller: string }[] = [{ id: nodes[0]!.id, caller: other }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { callFrame, children = [] } = byId.get(next.id)!;
    if (callFrame.functionName === '(idle)') continue;
    const isGarbage = callFrame.functionName === '(garbage collector)';
    const part = isGarbage ? GARBAGE : (rules.find(({ files }) => files.test(callFrame.url))?.part ?? next.caller);
    parts.set(next.id, part);
    for (const id of children) pending.push({ id, caller: part });
  }
  return parts;
}
