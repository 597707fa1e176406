import { runCommandLine } from './command-line.ts';
import { ENVIRONMENT, INTERRUPTED } from './support/exit.ts';
import { printErr, printJson } from './support/print.ts';
import { endWith } from './support/until-interrupted.ts';

const args = process.argv.slice(2);

// The reader of a pipe may close it early (`| head`); the command continues.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  printErr(`Writing to standard output failed (${error.code ?? error.name}).`);
  process.exitCode = ENVIRONMENT;
});
process.stderr.on('error', () => undefined);
process.on('SIGINT', () => {
  // A command that ends in order has its own listener.
  if (process.listenerCount('SIGINT') > 1) return;
  const error = 'Interrupted. If the command was changing something, its last change may still take effect.';
  printErr(error);
  if (args.includes('--json')) printJson({ ok: false, error });
  process.exit(INTERRUPTED);
});
endWith(await runCommandLine(args));
