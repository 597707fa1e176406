import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// First: compiling takes half of the time of a short command.
enableCompileCache(join(import.meta.dirname, '..', '.cache', 'compiled'));
const { ENVIRONMENT } = await import('./support/exit.ts');
const { runCommandLine } = await import('./program.ts');
const { printErr } = await import('./support/print.ts');

// The reader of a pipe may close it early (`| head`); the command goes on.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  printErr(`Standard output took no more (${error.code ?? error.name}).`);
  process.exitCode = ENVIRONMENT;
});
process.stderr.on('error', () => undefined);
process.exitCode = await runCommandLine(process.argv.slice(2));
