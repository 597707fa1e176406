import type { Command } from 'commander';
import { pathArgument, withAllDeployments, withExamples } from '../support/command-options.ts';
import { documentOf, exitCodeOf, linesOf } from './check.ts';
import { type DoctorOptions, doctor } from './doctor.ts';
import { doctorAll } from './doctor-all.ts';

/** Registers `doctor`; its exit code is 0 only if a nightly run would work. */
export function addDoctor(command: Command): void {
  withAllDeployments(command, ['refresh', 'read'])
    .option('--configuration <file>', 'default: config/NAME.json', pathArgument)
    .option('--refresh', 'also refresh the grant once, for real: spends one generation of it')
    .option('--read', "also read the newest file of each entity to its end, under today's settings")
    .option('--json', 'one JSON document')
    .action(async (options: DoctorOptions) => {
      if (options.allDeployments) return doctorAll(options);
      const checks = await doctor(options);
      const text = options.json ? JSON.stringify(documentOf(checks)) : linesOf(checks).join('\n');
      process.stdout.write(`${text}\n`);
      process.exitCode = exitCodeOf(checks);
    });
  withExamples(command, {
    'doctor --deployment prod': 'after authorize, and when a night has failed',
    'doctor --deployment prod --refresh': 'also try the refresh token, which spends one generation of it',
    'doctor --all-deployments': 'a row for each deployment of the account and region',
  });
}
