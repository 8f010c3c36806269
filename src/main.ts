// argv → command → exit code: 0, 1 (failed) or 2 (usage).
import { runCommandLine } from './cli/command-line.ts';
import { keepProcessAlive } from './runtime/clock.ts';

// Between two tries to reach a database that is away, or two processes of a group, nothing else would.
const letGo = keepProcessAlive();
process.exitCode = await runCommandLine(process.argv.slice(2));
letGo();
