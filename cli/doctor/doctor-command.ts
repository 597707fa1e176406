import type { Command } from 'commander';
import { documentOf } from '../checks/print.ts';
import { pathArgument, withExamples } from '../support/command-options.ts';
import type { DoctorOptions } from './begin.ts';
import { exitCodeOf, linesOf } from './conclusion.ts';
import { doctor } from './doctor.ts';

/** Registers `doctor`; its exit code is 0 only if a nightly run would work. */
export function addDoctor(command: Command): void {
  command
    .option('--configuration <file>', 'default: config/NAME.json', pathArgument)
    .option('--refresh', 'also refresh the grant once, for real: spends one generation of it')
    .option('--read', "also read the newest file of each entity to its end, under today's settings")
    .option('--all', 'also print the checks that passed')
    .option('--json', 'one JSON document')
    .action(async (options: DoctorOptions) => {
      const checks = await doctor(options);
      process.exitCode = exitCodeOf(checks);
      const document = () => JSON.stringify(documentOf(checks, process.exitCode === 0));
      process.stdout.write(`${options.json ? document() : linesOf(checks, process.stdout, options.all).join('\n')}\n`);
    });
  withExamples(command, {
    'doctor --deployment prod': 'after authorize, and when a night has failed',
    'doctor --deployment prod --refresh': 'also try the refresh token, which spends one generation of it',
  });
}
