// argv → command → exit code: 0, 1 (failed) or 2 (usage).
import { runCommandLine } from './cli/command-line.ts';

process.exitCode = await runCommandLine(process.argv.slice(2));
