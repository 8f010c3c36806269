// A log that keeps what it is told, for tests to read.
import type { Log } from '../../src/runtime/log.ts';

export type LogLine = { level: string; fields: Record<string, unknown>; message: string };

/** Lines below `error` are left out unless `levels` names them. */
export function createRecordingLog(levels: readonly string[] = ['error']): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write =
    (level: string) =>
    (fields: object | string, message = ''): void => {
      if (!levels.includes(level)) return;
      if (typeof fields === 'string') lines.push({ level, fields: {}, message: fields });
      else lines.push({ level, fields: { ...fields }, message });
    };
  const methods = Object.fromEntries(['debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, write(level)]));
  const log = { ...methods, isLevelEnabled: (level: string) => levels.includes(level) };
  return { log: log as unknown as Log, lines };
}
