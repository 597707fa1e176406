import { CloudFormationClient, paginateListStacks } from '@aws-sdk/client-cloudformation';
import { type Command, Option } from 'commander';
import { ENTITIES } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { createGrantStore, newestOf } from '../../core/oauth/grant-store.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { MOST_REFUSALS } from '../../core/oauth/refresh.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import type { Cell, Facts } from '../night/facts.ts';
import { gatherFacts } from '../night/gather.ts';
import { isPublished, type Judge, judgesOf } from '../night/judge.ts';
import { alarmsOf, raisedAlarms } from '../night/raised-alarms.ts';
import { nightOf } from '../night/starts.ts';
import { answerOf, LAST_NIGHT, type NightNames } from '../report/words.ts';
import { painterOf } from '../runs/run/words.ts';
import { nightlyPlanOf, startText } from '../schedule/nightly-plan.ts';
import { commandFor, dateArgument, numberArgument, quoted, withExamples } from '../support/command-options.ts';
import { completed } from '../support/completed.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { ended } from '../support/ended.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { clientSettings, connect, type Target, type TargetOptions } from '../support/target.ts';
import { plain, plainLine } from '../support/text.ts';
import type { Status, StatusRow } from './schema.ts';
import { statusText, toneOf } from './status-text.ts';

interface StatusOptions extends TargetOptions {
  allDeployments?: boolean;
  date?: string;
  json?: boolean;
}

/** Registers `status`, which changes nothing. */
export function addStatus(command: Command): void {
  const all = new Option('--all-deployments', 'a line for each deployment of the account and region, the worst first');
  command
    .addOption(all.conflicts(['deployment']))
    .option(
      '--call-timeout <seconds>',
      `with --all-deployments: how long one call of AWS may take; default: ${CALL_SECONDS}`,
      numberArgument('A whole number of seconds from 1 to 600.', 1, 600),
    )
    .option('--date <YYYY-MM-DD>', 'that date instead of last night', dateArgument)
    .option('--json', 'one JSON document')
    .action(status);
  withExamples(command, {
    'status --deployment prod': 'did last night work?',
    'status --date 2026-11-20 --deployment prod': 'did that date?',
    'status --all-deployments --profile exports': 'which deployments of the account and region lack last night?',
  }).addHelpText(
    'after',
    '\nExit code 0: every date that is due is whole, or none is due yet. 1: something is missing. 3: it cannot be told.',
  );
}

async function status(options: StatusOptions): Promise<void> {
  const now = new Date();
  const { date, json } = options;
  if (options.allDeployments) {
    const alarms = await raisedIn(options);
    const looks = await eachDeployment(options, (target, deployment) =>
      statusOf(target, { place: { ...options, deployment }, date, alarms, now }),
    );
    process.exitCode = exitCodeOfAll(looks.map(({ found }) => (found ? exitCodeOf(found) : ENVIRONMENT)));
    return json ? printJson(documentOf(looks, now)) : printOut(allText(looks, process.stdout));
  }
  const target = await connect(options);
  const found = await statusOf(target, { place: options, date, alarms: await raisedIn(options), now });
  process.exitCode = exitCodeOf(found);
  if (json) printJson(found);
  else printOut(statusText(found, options, process.stdout));
}

function exitCodeOf({ ok }: Status): number {
  return ok === null ? ENVIRONMENT : ok ? 0 : RUN_FAILED;
}

function documentOf(looks: Look[], now: Date) {
  const deployments = looks.map(({ deployment, found, why }) => ({ deployment, why, ...found }));
  return { madeAt: now.toISOString(), ok: process.exitCode === 0, deployments };
}

/** Alarms that are not known hide nothing else. */
async function raisedIn(options: StatusOptions): Promise<Map<string, string[]> | null> {
  const { CloudWatchClient } = await import('@aws-sdk/client-cloudwatch');
  const settings = clientSettings(options.allDeployments ? withLimits(options) : options);
  return raisedAlarms(new CloudWatchClient(settings)).catch((error: unknown) => {
    printErr(`Which alarms are raised is not known: ${ended(error).sentence}`);
    return null;
  });
}

interface Around {
  /** The options by which the deployment was found: commands to type repeat them. */
  place: TargetOptions;
  /** The date that is asked for; by default the night that began last. */
  date: string | undefined;
  /** Raised alarms by topic; `null` where they are not known. */
  alarms: Map<string, string[]> | null;
  now: Date;
}

/** A run that takes two days is under way. */
const NIGHTS = 3;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Looks at what is there of a night, and at what is not. */
async function statusOf(target: Target, { place, date, alarms, now }: Around): Promise<Status> {
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(completed(sentence, place));
  const { deployment } = place;
  const plan = nightlyPlanOf(await deployedConfiguration(target, warn));
  const nights = date === undefined ? NIGHTS : Math.max(NIGHTS, Math.ceil((now.getTime() - Date.parse(date)) / DAY_MS));
  const [facts, grant] = await Promise.all([
    gatherFacts(target, { deployment, plan, nights, now, warn }),
    grantOf(target, warn),
  ]);
  const said = judged(facts, place, date);
  const night = markedNightOf(facts, said.entities, date);
  return { deployment, ...said, night, alarms: alarmsOf(alarms, target), grant, warnings };
}

/**
 * What the bucket has of the night that is told: of the date that is asked for, or the newest of the night that began last. An entity
 * that does not start every day is judged by a date of its own.
 */
function markedNightOf({ plan, now, marked }: Facts, rows: StatusRow[], asked: string | undefined): Status['night'] {
  const daily = [...nightOf(plan, now).values()];
  const dates = daily.length > 0 ? daily : rows.map(({ date }) => date);
  const told = asked ?? dates.sort().at(-1);
  return marked.find(({ date }) => date === told) ?? null;
}

/** What is said by the facts alone. */
function judged(
  facts: Facts,
  place: TargetOptions,
  date?: string,
): Pick<Status, 'madeAt' | 'ok' | 'headline' | 'entities' | 'nextStart'> {
  const { now, plan } = facts;
  const judge = judgesOf(facts);
  const judges = ENTITIES.map((entity) => ({ entity, ...judge(entity) }));
  const nextStart = firstStart(judges);
  const all = { madeAt: now.toISOString(), nextStart };
  if (date !== undefined && date > dateIn(plan.timeZone, now)) {
    return { ...all, ok: true, headline: `Nothing of ${date} is due yet: that date is still to come`, entities: [] };
  }
  const looked = judges.map((one) => ({ ...one, cell: one.cellOf(date ?? one.last) }));
  const cells = looked.map(({ cell }) => cell);
  const known = facts.published.length + facts.attempts.length > 0;
  const names = date === undefined ? LAST_NIGHT : { past: date, open: date };
  const ok = isWhole(facts, cells);
  const headline = ok === null ? unknownText(names, facts, cells) : answerOf(cells, names, known).text;
  const entities = looked.map(({ cell, rule }) => ({
    ...rowOf(facts, cell, rule),
    advice: cell.missing && isCertain(facts, cell) ? adviceOf(cell, cells, facts, place) : null,
  }));
  return { ...all, ok, headline, entities };
}

/** Where it cannot be told, nothing is said to be missing. */
function unknownText(names: NightNames, facts: Facts, cells: Cell[]): string {
  const entities = cells.filter((cell) => !isCertain(facts, cell)).map(({ entity }) => entity);
  return `${names.past}: not known of ${entities.join(', ')}`;
}

function rowOf(facts: Facts, cell: Cell, rule: StatusRow['rule']): Omit<StatusRow, 'advice'> {
  const { entity, date, outcome, missing, published, attempts } = cell;
  const last = published ? undefined : attempts.at(-1);
  const pointer = facts.newest[entity];
  const hours = (since: string) => Math.floor((facts.now.getTime() - Date.parse(since)) / HOUR_MS);
  return {
    entity,
    date,
    state: outcome,
    missing,
    rule,
    run: published?.manifest.execution ?? last?.run ?? null,
    error: last?.error ?? null,
    readers: pointer
      ? {
          date: pointer.date,
          run: pointer.execution,
          startedAt: pointer.startedAt,
          hours: hours(pointer.startedAt),
        }
      : null,
  };
}

function firstStart(judges: (Pick<Judge, 'next'> & { entity: StatusRow['entity'] })[]): Status['nextStart'] {
  const starts = judges.flatMap(({ entity, next }) => (next ? [{ entity, ...next }] : []));
  const [first] = starts.sort((one, other) => one.at.getTime() - other.at.getTime());
  return first ? { ...first, at: first.at.toISOString() } : null;
}

/**
 * The command to type where the file of a date is missing: one for all entities that it mends at once.
 * @param night what became of all entities
 */
function adviceOf(
  { entity, date, outcome, attempts }: Cell,
  night: Cell[],
  { plan, now }: Pick<Facts, 'plan' | 'now'>,
  place: TargetOptions,
): string {
  if (outcome === 'withoutRule') return completed('npx cdk deploy --revert-drift', place);
  const run = attempts.at(-1)?.run;
  // It says why, names the entry of the runbook, and the command that makes up for it.
  if (run !== undefined) return commandFor(`show ${quoted(run)}`, place);
  const alike = night.filter(
    (cell) =>
      cell.outcome === outcome &&
      cell.date === date &&
      cell.attempts.length === 0 &&
      (outcome === 'paused' || plan.dated[cell.entity] === plan.dated[entity]),
  );
  const entities = alike.map((cell) => cell.entity);
  const command = outcome === 'paused' ? `resume ${entities.join(' ')}` : startText(entities, date, plan, now);
  return commandFor(command, place);
}

/** When the tokens were obtained that are stored, and whether the CRM has refused their refresh. */
async function grantOf(target: Target, warn: (sentence: string) => void): Promise<Status['grant']> {
  const { secrets, dynamo, TokensSecretId, LedgerTableName } = target;
  try {
    const { newest } = await newestOf(createGrantStore(secrets, TokensSecretId));
    const item = await createLedger(dynamo, LedgerTableName, TokensSecretId).read(newest.versionId);
    const refused =
      item && item.refusals >= MOST_REFUSALS ? `The CRM refuses to refresh it: ${plain(item.reason)}` : null;
    const dead =
      item?.state === 'DEAD' ? `It is dead${item.diedAt ? ` since ${item.diedAt}` : ''}: ${plain(item.reason)}` : null;
    return { obtainedAt: newest.tokens.obtainedAt, trouble: dead ?? refused };
  } catch (error) {
    warn(`The age of the grant is not known: ${ended(error).sentence}`);
    return null;
  }
}

/** Whether it is known what became of a date: without the executions, a run of it may be under way. */
function isCertain({ attemptsKnown }: Pick<Facts, 'attemptsKnown'>, cell: Cell): boolean {
  return attemptsKnown || isPublished(cell) || ['none', 'off', 'paused', 'withoutRule'].includes(cell.outcome);
}

/** Whether every date that is due is whole; `null` where it cannot be told. */
function isWhole(facts: Pick<Facts, 'attemptsKnown'>, cells: Cell[]): boolean | null {
  const certain = cells.filter((cell) => isCertain(facts, cell));
  if (certain.some(({ missing }) => missing)) return false;
  return certain.length === cells.length ? true : null;
}

/** Where all deployments are: an account and a region. */
type Place = Omit<TargetOptions, 'deployment'>;

/** What was found of a deployment, or the sentence that says why it is not known. */
type Look = { deployment: string } & ({ found: Status; why: null } | { found: null; why: string });

/** The default of `--call-timeout`. The limits of the SDK would let one silent deployment keep the others waiting. */
const CALL_SECONDS = 20;
/** Step Functions allows two to five `ListExecutions` a second, by region, for the whole account. */
const AT_ONCE = 5;
const NAME = /^crm-export-([a-z][a-z0-9-]{0,30})$/;

/** The place with a limit for each call. */
function withLimits(place: Place): Place & { callTimeout: number } {
  return { ...place, callTimeout: place.callTimeout ?? CALL_SECONDS };
}

/**
 * Looks at every deployment of the account and region, a few at a time. A deployment that cannot be read does not stop the
 * others.
 * @throws CommandError (exit code 3) when the stacks cannot be listed, or none is a deployment
 */
async function eachDeployment(
  place: Place,
  look: (target: Target, deployment: string) => Promise<Status>,
): Promise<Look[]> {
  const limited = withLimits(place);
  const names = await deploymentsIn(limited);
  return eachOf(
    names,
    async (deployment): Promise<Look> => {
      try {
        return { deployment, found: await look(await connect({ ...limited, deployment }), deployment), why: null };
      } catch (error) {
        return { deployment, found: null, why: ended(error).sentence };
      }
    },
    AT_ONCE,
  );
}

/** The names of all deployments, in alphabetical order: a deployment is a stack `crm-export-NAME`. */
async function deploymentsIn(place: Place): Promise<string[]> {
  const client = new CloudFormationClient(clientSettings(place));
  const names = new Set<string>();
  for await (const { StackSummaries = [] } of paginateListStacks({ client }, {})) {
    for (const { StackName = '', StackStatus = '' } of StackSummaries) {
      const name = NAME.exec(StackName)?.[1];
      // AWS lists a stack for 90 days after it was deleted.
      if (name && StackStatus !== 'DELETE_COMPLETE') names.add(name);
    }
  }
  if (names.size > 0) return [...names].sort();
  const sentence = `There is no deployment here: check --profile and --region (this is ${await client.config.region()}).`;
  throw new CommandError(sentence, ENVIRONMENT);
}

/** The smallest code other than 0: a known fault (1) counts more than a deployment that is not known (3). */
export function exitCodeOfAll(codes: number[]): number {
  const bad = codes.filter((code) => code !== 0);
  return bad.length > 0 ? Math.min(...bad) : 0;
}

const FIRST = ['bad', 'warned', 'open', 'good'] as const;
const SIGN = { bad: '✕', warned: '?', open: '…', good: '✓' };

/** A line for each deployment, the worst first. */
function allText(looks: Look[], stream: { isTTY?: boolean }): string {
  const paint = painterOf(stream);
  const rows = looks.map((look) => ({ ...look, tone: look.found ? toneOf(look.found) : 'warned' }) as const);
  const sorted = rows.toSorted((one, other) => FIRST.indexOf(one.tone) - FIRST.indexOf(other.tone));
  return sorted
    .map(({ deployment, found, why, tone }) => {
      const alarms = found?.alarms?.length ? `; alarms: ${found.alarms.join(', ')}` : '';
      const text = found ? `${found.headline}${alarms}` : `not known: ${plainLine(why ?? '')}`;
      return paint(tone)(`${SIGN[tone]} ${deployment}: ${text}`);
    })
    .join('\n');
}
