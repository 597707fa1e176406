import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { configurationFile, readConfiguration } from '../../core/config/configuration.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { consentBy, type PersonOptions, withPersonOptions } from '../authorize/person-options.ts';
import { configured } from '../doctor/configuration.ts';
import { entityArgument, numberArgument, pathArgument, withExamples } from '../support/command-options.ts';
import { confirm } from '../support/confirm.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type ChangeOptions, changeOf, filterArgument } from './asked.ts';
import type { ProbeDeps } from './conversation/converse.ts';
import { consentedGrant, type Granted, storedGrant } from './grant.ts';
import { notMet, type Probed, probe } from './probe.ts';
import { report } from './report.ts';
import { readBefore } from './write.ts';

export interface ProbeOptions extends Omit<TargetOptions, 'deployment'>, PersonOptions, ChangeOptions {
  /** Without it, and with a configuration, the CRM is met without a deployment. */
  deployment?: string;
  configuration?: string;
  entity?: Entity;
  early?: boolean;
  filter?: Record<string, unknown>[];
  deadline: number;
  write?: boolean;
  save?: boolean;
  all?: boolean;
  yes?: boolean;
}

/** Registers `probe`, a supervised first meeting with the CRM (docs/adr/0037). */
export function addProbe(command: Command): void {
  command
    .option(
      '--configuration <file>',
      'meet the CRM of this file; without --deployment: with a consent of its own',
      pathArgument,
    )
    .option('--entity <name>', 'the one to export; default: the first that lists its fields', entityArgument)
    .option('--early', 'also ask once for the file of an export before it is there')
    .option('--filter <json>', 'also make an export with this filter, and compare the sizes', filterArgument)
    .option('--customer <id>', 'also change one customer; needs --field and --yes')
    .option('--field <name>', 'the field of the customer to change; its value is asked for')
    .option(
      '--deadline <seconds>',
      'how long to wait for an export',
      numberArgument('A time is a number of seconds from 1 to 86400.', 1, 86_400),
      900,
    )
    .option('--write', 'put the settings that differ into the configuration file')
    .option('--save', 'keep the report, which has shapes only, in the bucket of the deployment')
    .option('--all', 'say also why each of the other points cannot be seen')
    .option('--yes', 'fetch from a host that crm.fileHosts does not name, and send the change, without asking')
    .option(
      '--client-id <id>',
      'without a deployment: the OAuth client; its secret comes from CRM_CLIENT_SECRET, or is asked for',
    );
  withPersonOptions(command)
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(run);
  withExamples(command, {
    'probe --deployment prod': 'compare every open point with what the CRM answers, by one export of one column',
    'probe --configuration config/prod.json --client-id 1a2b3c --port 8400':
      'before the first deployment; asks for consent',
    'probe --deployment prod --entity meetings --early --write': 'of meetings, and put what differs into the file',
  });
}

/** Where a CRM is met, and with which grant. */
interface Meeting {
  deployment: Deployment;
  /** The file of the configuration. */
  file: string;
  target: Target | undefined;
  grant: (signal: AbortSignal) => Promise<Granted>;
}

async function run(options: ProbeOptions): Promise<void> {
  const change = await changeOf(options);
  const meeting = options.deployment === undefined ? byFile(options) : await byDeployment(options, options.deployment);
  const before = options.write ? readBefore(meeting.file) : undefined;
  const probed = await untilInterrupted('Interrupted: nothing was asked of the CRM.', (signal) =>
    meet(meeting, { ...options, change }, signal),
  );
  const savesIn = options.save ? meeting.target : undefined;
  await report(probed, { deployment: meeting.deployment, before, savesIn }, options);
}

function byFile(options: ProbeOptions): Meeting {
  if (options.save) throw new CommandError('--save needs a deployment, whose bucket keeps the report.', USAGE);
  // No stack is looked at here, so a local configuration needs no local cloud.
  const { deployment, file } = readConfiguration('probe', options.configuration, 'http://127.0.0.1');
  const grant = (signal: AbortSignal) => {
    printErr(
      'This asks for a consent of its own. Some CRMs end another grant of the same client by it: do not do this beside a deployment that works.',
    );
    return consentedGrant(deployment.crm, { ...consentBy(options), configuration: file, signal });
  };
  return { deployment, file, target: undefined, grant };
}

async function byDeployment(options: ProbeOptions, name: string): Promise<Meeting> {
  const place = { ...options, deployment: name };
  const target = await connect(place);
  const { deployment } = configured(place, await deployedConfiguration(target));
  const file = options.configuration ?? configurationFile(name);
  return { deployment, file, target, grant: () => storedGrant(target, deployment.crm, place) };
}

async function meet(
  { deployment, grant }: Meeting,
  options: ProbeOptions & { change: ProbeDeps['change'] },
  signal: AbortSignal,
): Promise<Probed> {
  const granted = await grant(signal);
  if ('refused' in granted) return notMet(granted.grant, deployment.crm.scopes, granted.refused);
  const { entity, early, filter: filters, change, deadline: deadlineSeconds, yes } = options;
  printErr(`Asking the CRM at ${new URL(deployment.crm.baseUrl).host}: each call once, one export of one column.`);
  return probe({
    ...{ deployment, ...granted, entity, early, filters, change, deadlineSeconds, signal },
    elapsed: () => performance.now(),
    sleep: (ms) => sleep(ms, undefined, { signal }),
    confirmHost: (host) => confirmHost(host, yes, signal),
    onCall: ({ call, purpose }) => {
      if (!call.startsWith('GET')) printErr(`  ${call}${purpose === 'main' ? '' : ` (${purpose})`}`);
    },
  });
}

async function confirmHost(host: string, yes: boolean | undefined, signal: AbortSignal): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) {
    printErr(`The file is on ${host}, which crm.fileHosts does not name, and nobody is there to be asked: add --yes.`);
    return false;
  }
  const asking = { stream: process.stdin, print: (text: string) => process.stderr.write(text) };
  const question = `The file is on ${host}, which crm.fileHosts does not name. Fetch up to 16 MB of it?`;
  return confirm(asking, question, signal);
}
