import { runCommandLine } from './command-line.ts';
import { ENVIRONMENT } from './support/exit.ts';
import { printErr } from './support/print.ts';

// The reader of a pipe may close it early (`| head`); the command continues.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  printErr(`Writing to standard output failed (${error.code ?? error.name}).`);
  process.exitCode = ENVIRONMENT;
});
process.stderr.on('error', () => undefined);
process.exitCode = await runCommandLine(process.argv.slice(2));
