import type { Command } from 'commander';
import { ConfigurationError } from '../../core/config/configuration.ts';
import type { Deployed } from '../../core/config/deployed.ts';
import { isUntried } from '../../core/oauth/grant.ts';
import { pathArgument, withExamples } from '../support/command-options.ts';
import { deployedConfiguration, OtherRelease, unsettledText } from '../support/deployed-configuration.ts';
import { CommandError } from '../support/exit.ts';
import { printJson, printOut } from '../support/print.ts';
import { clientSettings, connect, lazyClients, type Target } from '../support/target.ts';
import { colorsFor, manyText } from '../support/text.ts';
import {
  broken,
  type Check,
  type Checked,
  checked,
  documentOf,
  fact,
  holds,
  ifRead,
  textOf,
  type Verdict,
  warning,
} from './check.ts';
import { type Configured, configured } from './doctor-configuration.ts';
import { type DoctorFacts, type DoctorOptions, lackingOf, notChecked, readFacts } from './doctor-facts.ts';
import {
  accessTokenFinding,
  clientFinding,
  FIRST_RUN,
  GRANT_RIGHTS,
  GRANT_STORED,
  grantFinding,
  ledgerFinding,
  refreshFinding,
  scopesFinding,
  storedFinding,
} from './grant-checks.ts';
import { alarmAddresses, RULES, rulesFinding, settingsFindings } from './night-checks.ts';

/** Registers `doctor`; its exit code is 0 only if a nightly run would work. */
export function addDoctor(command: Command): void {
  command
    .option('--configuration <file>', 'default: config/NAME.json', pathArgument)
    .option('--refresh', 'also refresh the grant once, which uses up the current refresh token')
    .option('--all', 'also print the checks that passed')
    .option('--json', 'one JSON document')
    .action(async (options: DoctorOptions) => {
      const checks = await doctor(options);
      process.exitCode = exitCodeOf(checks);
      if (options.json) printJson(documentOf(checks, process.exitCode === 0));
      else printOut(linesOf(checks, process.stdout, options.all).join('\n'));
    });
  withExamples(command, {
    'doctor --deployment prod': 'after authorize, and when a night has failed',
    'doctor --deployment prod --refresh': 'also try the refresh token, which uses it up',
  });
}

/**
 * Checks everything that a nightly run needs against the deployed configuration.
 * @returns the results in the order in which a run needs what they check; no result contains a token
 */
export async function doctor(options: DoctorOptions): Promise<Checked[]> {
  const connected = fact(connect(options));
  const target = await ifRead(connected);
  const configuration = fact(configuredBy(options, target));
  const known = await ifRead(configuration);
  const beginning = await allOf(BEGINNING, { connected, configuration }, options);
  if (target) return [...beginning, ...(await allOf(DOCTOR_CHECKS, await readFacts(target, known, options), options))];
  if (!known?.file?.network) return beginning;
  // Before the first deployment, it shows whether the configured network has a way out.
  const clients = lazyClients(clientSettings(options));
  return [...beginning, ...(await checked(NETWORK, { target: clients, known: { file: known.file } }, options))];
}

async function allOf<Context>(checks: Check<Context>[], context: Context, options: DoctorOptions): Promise<Checked[]> {
  return (await Promise.all(checks.map((check) => checked(check, context, options)))).flat();
}

/** The deployed configuration. If another release deployed the stack, the file counts, as before a first deployment. */
async function configuredBy(options: DoctorOptions, target: Target | undefined): Promise<Configured> {
  let deployed: Deployed | undefined;
  try {
    deployed = target && (await deployedConfiguration(target, () => undefined));
  } catch (error) {
    if (!(error instanceof OtherRelease)) throw error;
    return byFile(options, error);
  }
  return configured(options, deployed);
}

/** @throws OtherRelease if there is no valid file either */
function byFile(options: DoctorOptions, other: OtherRelease): Configured {
  try {
    const found = `${other.message} Until then, the configuration file is checked here.`;
    return { ...configured(options, undefined), finding: broken(found, 'npx cdk deploy', other.exitCode) };
  } catch (error) {
    throw error instanceof ConfigurationError ? other : error;
  }
}

/** What the first checks judge, before the deployment is known. */
interface Beginning {
  connected: Promise<Target>;
  configuration: Promise<Configured>;
}

const BEGINNING: Check<Beginning>[] = [
  {
    id: 'configuration',
    question: 'Is the configuration file the deployed one?',
    rights: ['cloudformation:GetTemplate on the stack'],
    look: async ({ configuration }) => (await configuration).finding,
  },
  {
    id: 'stack',
    question: 'Does the stack exist?',
    rights: ['cloudformation:DescribeStacks on the stack'],
    look: async ({ connected }) => {
      const target = await connected.catch((error: unknown) => {
        if (error instanceof CommandError) return error;
        throw error;
      });
      if (target instanceof CommandError) {
        const advice = 'Check --deployment, --profile, --region and --endpoint-url, or deploy the stack.';
        return broken(target.message, advice, target.exitCode);
      }
      const between = unsettledText(target);
      if (between === undefined) return holds(`${target.stack} exists, with all its outputs.`);
      return warning(between, 'Wait until the deployment has ended; if it has failed, deploy again.');
    },
  },
];

const NETWORK: Check<{ target: Pick<Target, 'ec2'>; known: Partial<Configured> | undefined }> = {
  id: 'network',
  question: 'Can the functions in your subnets reach the CRM and AWS?',
  rights: ['Subnets', 'SecurityGroups', 'RouteTables', 'VpcEndpoints'].map((what) => `ec2:Describe${what} on \`*\``),
  fails: 'ifBroken',
  look: async ({ target, known }) => {
    if (!known?.deployment?.network && !known?.file?.network) return [];
    // Loaded only if there is a network: the client of EC2 takes as long to load as all others together.
    const { networkFindings } = await import('./network-checks.ts');
    return networkFindings(target, known.deployment, known.file);
  },
};
const BUCKET_RIGHTS = [
  's3:GetObject on `published/*`, `runs/*`',
  's3:ListBucket on the bucket',
  'kms:Decrypt on the key, through S3',
];

/** All checks of a deployment, in the order in which a nightly run needs what they check. */
export const DOCTOR_CHECKS: Check<DoctorFacts>[] = [
  {
    ...RULES,
    fails: 'ifBroken',
    look: ({ target, known, options }) =>
      known ? rulesFinding(target, known.deployment, options) : notChecked('a valid configuration'),
  },
  NETWORK,
  {
    id: 'alarm-addresses',
    question: 'Do alarms reach a person?',
    rights: ['sns:ListSubscriptionsByTopic on the topic of the alarms'],
    fails: 'never',
    look: ({ target, known }) => {
      const { local, alarms } = known?.deployment ?? {};
      // A local cloud sends no mail, so its configuration needs no address.
      return local && alarms?.email.length === 0 ? [] : alarmAddresses(target, alarms?.email);
    },
  },
  {
    id: 'column-settings',
    question: 'Was everything that readers have written under the current column settings?',
    rights: [...BUCKET_RIGHTS, 's3:GetObject on `tables/*`', 's3:GetObject on `changes/*`'],
    fails: 'never',
    look: ({ target, known, options }) => (known ? settingsFindings(target, known.deployment, options) : []),
  },
  {
    id: 'client-secret',
    question: 'Is the OAuth client stored?',
    rights: GRANT_RIGHTS,
    look: async ({ client, before, known, advising }) =>
      clientFinding(await client, before?.tokens ?? {}, known?.deployment.crm, advising),
  },
  {
    id: 'grant',
    question: 'Is there a grant?',
    rights: GRANT_RIGHTS,
    look: async ({ grant, advising }) => grantFinding(await grant, advising),
  },
  {
    id: 'ledger',
    question: 'Can the grant be spent when the time comes?',
    rights: ['dynamodb:GetItem on the ledger', 'kms:Decrypt on the key, through Secrets Manager and DynamoDB'],
    look: async ({ claim, before, advising }) => {
      const item = await claim;
      return before ? ledgerFinding(item, advising) : holds('Reachable; there is no grant to spend.');
    },
  },
  { ...GRANT_STORED, look: ({ before }) => (before ? storedFinding(before.tokens) : []) },
  {
    id: 'refresh',
    question: 'Does the CRM refresh the grant?',
    option: '--refresh',
    rights: [
      'secretsmanager:PutSecretValue on both secrets',
      'dynamodb:UpdateItem on the ledger',
      'kms:GenerateDataKey on the key, through Secrets Manager',
    ],
    look: async ({ options, refreshed, advising, before, known }) => {
      if (!options.refresh) return [];
      const done = await refreshed;
      if (done) return refreshFinding(done, advising);
      if (before && isUntried(before.tokens)) {
        return notChecked('a first refresh by a function', `Start a run, which is to be the first: ${FIRST_RUN}.`);
      }
      return notChecked(lackingOf({ known, before }) ?? 'a grant that can be spent');
    },
  },
  {
    id: 'scopes',
    question: 'Has the grant every scope?',
    rights: GRANT_RIGHTS,
    look: ({ tokens, known, advising }) =>
      tokens && known ? scopesFinding(tokens, known.deployment.crm.scopes, advising) : [],
  },
  {
    id: 'access-token',
    question: 'How long does the access token live?',
    rights: GRANT_RIGHTS,
    look: ({ tokens, advising }) => (tokens ? accessTokenFinding(tokens, advising) : []),
  },
  {
    id: 'service',
    question: 'Does the CRM answer, with the grant?',
    rights: [],
    look: ({ asked }) => asked.service,
  },
  {
    id: 'columns',
    question: 'Do the columns that the CRM lists fit the configuration and the last export?',
    rights: BUCKET_RIGHTS,
    look: ({ asked }) => asked.columns,
  },
];

/** The exit code of the first failed check. Checks are ordered by cause, so this is the cause of the failure. */
export function exitCodeOf(checks: Checked[]): number {
  return checks.find(({ exitCode }) => exitCode !== 0)?.exitCode ?? 0;
}

/** The lines of all checks: failed ones first, the conclusion last. @param all lists passed checks too */
export function linesOf(checks: Checked[], stream: { isTTY?: boolean } = {}, all = false): string[] {
  const having = (wanted: Verdict) => checks.filter(({ verdict }) => verdict === wanted);
  const worst = [...having('broken'), ...having('unknown'), ...having('warning')];
  const held = having('holds');
  const folded = `✓ ${manyText(held.length, 'check')} passed; to see them, add --all.`;
  const passed =
    all || held.length === 0 ? held.map((check) => textOf(check, stream)) : [colorsFor(stream).green(folded)];
  // Checks with one cause have one advice, which is printed once.
  const isFirst = ({ advice }: Checked, index: number) => worst.findIndex((one) => one.advice === advice) === index;
  const lines = worst.map((one, index) => textOf(isFirst(one, index) ? one : { ...one, advice: null }, stream));
  return [...lines, ...passed, conclusionOf(checks)];
}

function conclusionOf(checks: Checked[]): string {
  const broken = checks.filter(({ verdict }) => verdict === 'broken');
  const ends = broken.every(({ id }) => id === 'rules') ? 'not come as it was deployed' : 'fail';
  if (broken.length > 0) return `A nightly run would ${ends}: see ✗ (${broken.length}).`;
  if (exitCodeOf(checks) !== 0) return 'doctor could not find out whether a nightly run would work: see ?.';
  const doubt = doubtOf(checks);
  return doubt ? `No check found a reason for a nightly run to fail, but ${doubt}.` : 'A nightly run would work.';
}

/** Why a nightly run may not work although no check failed. Only a call to the CRM with the grant proves the grant. */
function doubtOf(checks: Checked[]): string | undefined {
  const find = (id: string) => checks.find((one) => one.id === id);
  const rules = find('rules');
  if (rules && rules.verdict !== 'holds') return 'some nights may not start: see rules';
  if (find('grant-stored')?.verdict === 'warning') return 'no function has refreshed the grant yet: see grant-stored';
  if (find('service')?.verdict === 'holds') {
    return find('columns') && 'not all deployed columns were checked';
  }
  return `the grant was not tried${find('refresh') ? ' at the CRM' : ': add --refresh'}`;
}
