// What any process tells of itself, under the names that dashboards for Prometheus expect.
import { readdir } from 'node:fs/promises';
import { Counter, Gauge, type Registry } from '@prometheus-io/client';

export function addProcessMetrics(registers: Registry[], version: string): void {
  const info = new Gauge({
    name: 'postrider_build_info',
    help: 'Always 1; the versions of Postrider and of Node are in its labels.',
    labelNames: ['version', 'node'],
    registers,
  });
  info.set({ version, node: process.versions.node }, 1);
  addProcessorTime(registers);
  addGauge(registers, 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  addGauge(registers, 'process_open_fds', 'File descriptors in use; NaN where the system does not tell.', countFiles);
  addGauge(
    registers,
    'process_start_time_seconds',
    'When the process was started, in seconds since 1970.',
    () => performance.timeOrigin / 1000,
  );
}

function addProcessorTime(registers: Registry[]): Counter {
  let counted = 0;
  return new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time, of the system’s calls too.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      const total = (user + system) / 1e6;
      this.inc(total - counted);
      counted = total;
    },
  });
}

type Read = () => number | Promise<number>;

export function addGauge(registers: Registry[], name: string, help: string, read: Read): Gauge {
  return new Gauge({
    name,
    help,
    registers,
    async collect() {
      // What cannot be read just now, for the store is away, must not take the other metrics with it.
      try {
        this.set(await read());
      } catch {
        this.set(Number.NaN);
      }
    },
  });
}

/** Linux and macOS both have the folder. Reading it takes a descriptor, too. */
async function countFiles(): Promise<number> {
  try {
    return (await readdir('/dev/fd')).length - 1;
  } catch {
    return Number.NaN;
  }
}
