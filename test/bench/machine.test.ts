// The bench's look at what else the machine does: figures taken beside other work are not taken, or not believed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import {
  othersShare,
  parseStat,
  runWhenQuiet,
  systemMachine,
  type CpuCount,
  type Machine,
} from '../../bench/machine.ts';
import { formatReport, type Report } from '../../bench/report.ts';

const REPORTS: Report[] = [{ case: 'x', figures: [{ name: 'rate', value: 1, unit: '', aim: '≥ 2', met: false }] }];

/** A second passes at each look; what others use in each second is given, the last for all that follow. */
function machineOf(shares: number[]): Machine & { seconds: () => number } {
  let now = 0;
  let busy = 0;
  let left = shares;
  const pass = (): void => {
    now += 1_000_000;
    busy += left[0]! * 1_000_000;
    left = left.length > 1 ? left.slice(1) : left;
  };
  const read = (): CpuCount => ({ busy, possible: now, ours: 0 });
  return { read, sleep: () => Promise.resolve(pass()), seconds: () => now / 1_000_000 };
}

describe('a case waits for a quiet machine', () => {
  test('it runs as soon as a second was quiet', async () => {
    const machine = machineOf([0.4, 0.2, 0.01]);
    const run = async (): Promise<Report[]> => {
      assert.equal(machine.seconds(), 3);
      await machine.sleep(1_000);
      return REPORTS;
    };
    assert.deepEqual(await runWhenQuiet(machine, { name: 'x', mayRun: false, run }), REPORTS);
  });

  test('where it never is, nothing is measured, and the table says what was there', async () => {
    const machine = machineOf([0.23]);
    const run = (): Promise<Report[]> => assert.fail('it was measured');
    const [report] = await runWhenQuiet(machine, { name: 'x', mayRun: false, run });
    assert.match(formatReport(report!), /### x\n\n\*\*not quiet: 23 % of the CPUs were busy before it began \(load /);
    assert.deepEqual(report!.figures, []);
    assert.ok(machine.seconds() < 60);
  });

  test('who wants to go on anyway gets figures that count for nothing', async () => {
    const machine = machineOf([0.23]);
    const run = async (): Promise<Report[]> => {
      assert.equal(machine.seconds(), 1);
      await machine.sleep(1_000);
      return REPORTS;
    };
    const [report] = await runWhenQuiet(machine, { name: 'x', mayRun: true, run });
    const printed = formatReport(report!);
    assert.match(printed, /not quiet: 23 % .* These figures mean nothing\./);
    assert.match(printed, /\| rate +\| 1 /);
    assert.doesNotMatch(printed, /\| NO/);
  });

  test('what others do while it runs makes its figures worthless, too', async () => {
    const machine = machineOf([0, 0.5]);
    const run = async (): Promise<Report[]> => {
      await machine.sleep(10_000);
      return REPORTS;
    };
    const [report] = await runWhenQuiet(machine, { name: 'x', mayRun: false, run });
    assert.match(formatReport(report!), /not quiet: others used 50 % of the CPUs meanwhile/);
  });
});

describe('what others use', () => {
  test('is what the CPUs did, without what was ours', () => {
    const before = { busy: 100, possible: 1_000, ours: 80 };
    assert.equal(othersShare(before, { busy: 600, possible: 2_000, ours: 380 }), 0.2);
    assert.equal(othersShare(before, { busy: 600, possible: 2_000, ours: 600 }), 0);
  });

  test('/proc/stat: waiting for disks is not being busy, and the time of guests is not counted twice', () => {
    const text = 'cpu  100 10 50 800 30 0 5 5 90 0\ncpu0 50 5 25 400 15 0 2 3 45 0\n';
    assert.deepEqual(parseStat(text), { busy: 1_700_000, possible: 10_000_000 });
  });

  test('counts a process of somebody else, and not one of ours', { skip: process.platform !== 'linux' }, async () => {
    const used = '() => { const { user, system } = process.cpuUsage(); return user + system; }';
    const spin = `const used = ${used}; while (used() < 1_000_000);`;
    const before = systemMachine.read();
    await once(spawn(process.execPath, ['-e', spin]), 'exit');
    const own = systemMachine.read().ours - before.ours;
    // Its shell ends at once, so it is nobody's child here.
    const shell = spawn('sh', ['-c', '"$0" -e "$1" & read line', process.execPath, spin], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    shell.stdin.end('\n');
    await once(shell, 'exit');
    const start = systemMachine.read();
    const waiting = spawn(process.execPath, ['-e', 'setTimeout(() => undefined, 1000)']);
    await once(waiting, 'exit');
    const end = systemMachine.read();
    assert.ok(own >= 500_000, `ours: ${own} µs`);
    const others = end.busy - start.busy - (end.ours - start.ours);
    assert.ok(others >= 300_000, `others: ${others} µs`);
  });
});
