import { CRM_EXPORT } from '../../core/commands.ts';
import { ConfigurationError } from '../../core/config/configuration.ts';
import { deployedOf } from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { createGetAccessToken } from '../../core/oauth/access-token.ts';
import { BEFORE_THE_FIRST, isUntried, newestTokenSet, tokenFreshness } from '../../core/oauth/grant.ts';
import { readOAuthClient } from '../../core/oauth/secrets.ts';
import { watchClock } from '../access/aws-clock.ts';
import { grantPlaces } from '../deployment-state.ts';
import { quoted } from '../support/command-options.ts';
import { deployedConfiguration, OtherRelease, unsettledText } from '../support/deployed-configuration.ts';
import { printJson, printOut } from '../support/print.ts';
import { clientSettings, connect, lazyClients, type Target } from '../support/target.ts';
import { countText, painterOf, SIGNS } from '../support/text.ts';
import {
  broken,
  type Checked,
  checked,
  documentOf,
  type Finding,
  fact,
  holds,
  ifRead,
  type Question,
  textOf,
  unknown,
  type Verdict,
  warning,
} from './check.ts';
import { type ConfigurationOptions, configured, fileOrError } from './doctor-configuration.ts';
import {
  accessTokenFinding,
  clientFinding,
  FIRST_RUN,
  GRANT_RIGHTS,
  GRANT_STORED,
  grantDeps,
  grantFinding,
  ledgerFinding,
  refreshFinding,
  scopesFinding,
  storedFinding,
} from './grant-checks.ts';
import { alarmAddresses, RULES, rulesFinding, settingsFindings } from './night-checks.ts';
import { askCrm } from './service-checks.ts';

/** `doctor`: answers questions in four steps: what is deployed, the night, the grant, the CRM. */

interface DoctorOptions extends ConfigurationOptions {
  /** Spends a token set of the grant; without this option, doctor changes nothing. */
  refresh?: boolean;
  /** Prints the passed checks too. */
  all?: boolean;
  json?: boolean;
}

/** Runs the command `doctor`. Its exit code is 0 only if a nightly run would work. */
export async function doctorAndPrint(options: DoctorOptions): Promise<void> {
  const checks = await doctor(options);
  process.exitCode = exitCodeOf(checks);
  if (options.json) printJson(documentOf(checks, process.exitCode === 0));
  else printOut(linesOf(checks, process.stdout, options.all).join('\n'));
}

const BUCKET_RIGHTS = [
  's3:GetObject on `published/*`, `runs/*`',
  's3:ListBucket on the bucket',
  'kms:Decrypt on the key, through S3',
];

/** The questions, in the order in which a nightly run needs the answers. doctor shows them in the same order. */
export const DOCTOR_QUESTIONS = {
  configuration: {
    question: 'Is the configuration file the deployed one?',
    rights: ['cloudformation:GetTemplate on the stack'],
  },
  stack: { question: 'Does the stack exist?', rights: ['cloudformation:DescribeStacks on the stack'] },
  rules: { ...RULES, mayBeUnknown: true },
  network: {
    question: 'Can the functions in your subnets reach the CRM and AWS?',
    rights: ['Subnets', 'SecurityGroups', 'RouteTables', 'VpcEndpoints'].map((what) => `ec2:Describe${what} on \`*\``),
    mayBeUnknown: true,
  },
  'alarm-addresses': {
    question: 'Do alarms reach a person?',
    rights: ['sns:ListSubscriptionsByTopic on the topic of the alarms'],
    mayBeUnknown: true,
  },
  'column-settings': {
    question: 'Do the current column settings apply to everything that readers have?',
    rights: [...BUCKET_RIGHTS, 's3:GetObject on `tables/*`', 's3:GetObject on `changes/*`'],
    mayBeUnknown: true,
  },
  'client-secret': { question: 'Is the OAuth client stored?', rights: GRANT_RIGHTS },
  grant: { question: 'Is there a grant?', rights: GRANT_RIGHTS },
  ledger: {
    question: 'Can a run refresh the grant when it is due?',
    rights: ['dynamodb:GetItem on the ledger', 'kms:Decrypt on the key, through Secrets Manager and DynamoDB'],
  },
  'grant-stored': GRANT_STORED,
  refresh: {
    question: 'Does the CRM refresh the grant?',
    option: '--refresh',
    rights: [
      'secretsmanager:PutSecretValue on both secrets',
      'dynamodb:UpdateItem on the ledger',
      'kms:GenerateDataKey on the key, through Secrets Manager',
    ],
  },
  scopes: { question: 'Has the grant every scope?', rights: GRANT_RIGHTS },
  'access-token': { question: 'How long does the access token live?', rights: GRANT_RIGHTS },
  service: { question: 'Does the CRM answer a call with the grant?', rights: [] },
  columns: {
    question: 'Do the columns that the CRM lists fit the configuration and the last export?',
    rights: BUCKET_RIGHTS,
    mayBeUnknown: true,
  },
} satisfies Record<string, Omit<Question, 'id'>>;

type Ask = (id: keyof typeof DOCTOR_QUESTIONS, answer: Parameters<typeof checked>[1]) => Promise<Checked[]>;

/**
 * Checks everything that a nightly run needs against the deployed configuration.
 * @returns the results in the order in which a run needs what they check; no result contains a token
 */
export async function doctor(options: DoctorOptions): Promise<Checked[]> {
  const answers = new Map<string, Checked[]>();
  const ask: Ask = async (id, answer) => {
    const found = await checked({ id, ...DOCTOR_QUESTIONS[id] }, answer, options);
    answers.set(id, found);
    return found;
  };
  const connected = fact(connect(options));
  const target = await ifRead(connected);
  const configuration = fact(configuredBy(options, target));
  const deployment = (await ifRead(configuration))?.deployment;
  await ask('configuration', async () => (await configuration).finding);
  await ask('stack', async () => stackFinding(await connected));
  if (target) {
    await askNight(ask, target, deployment);
    await askService(ask, target, deployment, await askGrant(ask, target, deployment, options));
  }
  // Before the first deployment, this check shows whether the configured network has a way out.
  else await askNetwork(ask, lazyClients(clientSettings(options)), deployment);
  return Object.keys(DOCTOR_QUESTIONS).flatMap((id) => answers.get(id) ?? []);
}

/** The deployed configuration; the configuration file if another release deployed the stack, or nothing is deployed. */
async function configuredBy(options: DoctorOptions, target: Target | undefined) {
  try {
    return configured(options, target && (await deployedConfiguration(target, () => undefined)));
  } catch (error) {
    if (!(error instanceof OtherRelease)) throw error;
    const file = fileOrError(options);
    if (file instanceof ConfigurationError) throw error;
    const found = `${error.message} Until then, the configuration file is checked here.`;
    return { deployment: deployedOf(file.deployment), finding: broken(found, 'npx cdk deploy', error.exitCode) };
  }
}

function stackFinding(target: Target): Finding {
  const between = unsettledText(target);
  if (between === undefined) return holds(`${target.stack} exists, with all its outputs.`);
  return warning(between, 'Wait until the deployment has ended; if it has failed, deploy again.');
}

async function askNight(ask: Ask, target: Target, deployment: Deployment | undefined) {
  if (!deployment) return ask('rules', () => notChecked('a valid configuration'));
  const { local, alarms } = deployment;
  return Promise.all([
    ask('rules', () => rulesFinding(target, deployment)),
    askNetwork(ask, target, deployment),
    // A local cloud sends no mail, so its configuration needs no address.
    local && alarms.email.length === 0 ? undefined : ask('alarm-addresses', () => alarmAddresses(target, alarms.email)),
    ask('column-settings', () => settingsFindings(target, deployment)),
  ]);
}

async function askNetwork(ask: Ask, target: Pick<Target, 'ec2'>, deployment: Deployment | undefined) {
  if (!deployment?.network) return undefined;
  const { network, crm } = deployment;
  // Loaded only if there is a network: the client of EC2 takes as long to load as all others together.
  const { networkFindings } = await import('./network-checks.ts');
  return ask('network', () => networkFindings(target, network, crm));
}

/** @returns `newest` is the token set for calls to the CRM, or `undefined` if it could not be read */
async function askGrant(ask: Ask, target: Target, deployment: Deployment | undefined, options: DoctorOptions) {
  const { store, ledger } = grantPlaces(target);
  const { now } = watchClock(target.secrets);
  const grant = fact(newestTokenSet(store));
  const before = await ifRead(grant);
  const isNew = before !== undefined && isUntried(before.tokens);
  const file = options.configuration ? ` --configuration ${quoted(options.configuration)}` : '';
  const refreshCommand = isNew ? FIRST_RUN : `${CRM_EXPORT} doctor --refresh${file}`;
  const advising = { now: now(), refreshCommand };
  const client = await ask('client-secret', async () => {
    const stored = await readOAuthClient(target.secrets, target.ClientSecretId);
    return clientFinding(stored, before?.tokens ?? {}, deployment?.crm);
  });
  const claim = await ask('ledger', async () => {
    const item = await ledger.read(before?.versionId ?? BEFORE_THE_FIRST);
    return before ? ledgerFinding(item, advising) : holds('The ledger is reachable. There is no grant to refresh.');
  });
  await ask('grant', async () => grantFinding(await grant, now()));
  if (before) await ask('grant-stored', () => storedFinding(before.tokens));
  let newest = before;
  const refresh = async () => {
    // A function has to make the first refresh: this shows that functions can refresh.
    if (isNew)
      return notChecked(
        'a grant that a function has refreshed',
        `Start a run, whose function makes this refresh: ${FIRST_RUN}.`,
      );
    if (!deployment || !before) return notChecked(deployment ? 'a grant' : 'a valid configuration');
    if ([...client, ...claim].some(({ verdict }) => verdict === 'broken' || verdict === 'unknown')) {
      return notChecked('a grant that can be spent');
    }
    await createGetAccessToken(grantDeps(target, deployment.crm, now))({ rejected: before.tokens.accessToken });
    newest = await newestTokenSet(store);
    return refreshFinding(before, newest);
  };
  if (options.refresh) await ask('refresh', refresh);
  const after = newest;
  if (after && deployment) {
    await ask('scopes', () => scopesFinding(after.tokens, deployment.crm.scopes));
    await ask('access-token', () => accessTokenFinding(after.tokens, advising));
  }
  return { newest: after, refreshed: after !== before, now, refreshCommand };
}

/** Asks the CRM, if there is an access token that has not expired. */
async function askService(
  ask: Ask,
  target: Target,
  deployment: Deployment | undefined,
  { newest, refreshed, now, refreshCommand }: Awaited<ReturnType<typeof askGrant>>,
) {
  const lacking = deployment ? 'a grant' : 'a valid configuration';
  if (!deployment || !newest) return ask('service', () => notChecked(lacking));
  if (tokenFreshness(newest.tokens, now()) === 'stale') {
    return ask('service', () => notChecked('a valid access token', `Refresh it by: ${refreshCommand}.`));
  }
  const { service, columns } = await askCrm(deployment, newest.tokens, { now, refreshed, refreshCommand, target });
  await ask('service', () => service);
  return ask('columns', () => columns);
}

/** The finding of a check that cannot run because an earlier check failed. */
function notChecked(lacking: string, advice = 'Fix what failed above, then run the command again.'): Finding {
  return unknown(`Not checked, because this is missing: ${lacking}.`, advice);
}

/** The exit code of the first failed check. Checks are ordered by cause, so this is the cause of the failure. */
export function exitCodeOf(checks: Checked[]): number {
  return checks.find(({ exitCode }) => exitCode !== 0)?.exitCode ?? 0;
}

/** The lines of all checks: failed ones first, the conclusion last. @param all lists passed checks too */
export function linesOf(checks: Checked[], stream: { isTTY?: boolean } = {}, all = false): string[] {
  const having = (wanted: Verdict) => checks.filter(({ verdict }) => verdict === wanted);
  const worst = [...having('broken'), ...having('unknown'), ...having('warning')];
  const held = having('holds');
  const folded = `${SIGNS.good} ${countText(held.length, 'check')} passed; to see them, add --all.`;
  const passed =
    all || held.length === 0 ? held.map((check) => textOf(check, stream)) : [painterOf(stream)('good')(folded)];
  // Checks with one cause have one advice, which is printed once.
  const isFirst = ({ advice }: Checked, index: number) => worst.findIndex((one) => one.advice === advice) === index;
  const lines = worst.map((one, index) => textOf(isFirst(one, index) ? one : { ...one, advice: null }, stream));
  return [...lines, ...passed, conclusionOf(checks)];
}

function conclusionOf(checks: Checked[]): string {
  const broken = checks.filter(({ verdict }) => verdict === 'broken');
  const ends = broken.every(({ id }) => id === 'rules') ? 'not start as it was deployed' : 'fail';
  if (broken.length > 0)
    return `A nightly run would ${ends}: see the ${countText(broken.length, 'line')} marked ${SIGNS.bad}.`;
  if (exitCodeOf(checks) !== 0)
    return `doctor could not find out whether a nightly run would work: see the lines marked ${SIGNS.unknown}.`;
  const doubt = doubtOf(checks);
  return doubt ? `No check found a reason for a nightly run to fail, but ${doubt}.` : 'A nightly run would work.';
}

/** Why a nightly run may fail although no check failed. Only a call to the CRM shows that the grant works. */
function doubtOf(checks: Checked[]): string | undefined {
  const find = (id: string) => checks.find((one) => one.id === id);
  const rules = find('rules');
  if (rules && rules.verdict !== 'holds') return 'some nights may not start: see rules';
  if (find('grant-stored')?.verdict === 'warning') return 'no function has refreshed the grant yet: see grant-stored';
  if (find('service')?.verdict === 'holds') return undefined;
  return `the grant was not tried${find('refresh') ? ' at the CRM' : ': add --refresh'}`;
}
