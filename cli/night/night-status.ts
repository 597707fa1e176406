import { paginateListStacks } from '@aws-sdk/client-cloudformation';
import * as z from 'zod/mini';
import { entitySchema } from '../../core/config/entity-schema.ts';
import { eachOf } from '../../core/each-of.ts';
import { DAY_MS } from '../../core/schedule/local-time.ts';
import { RULE_STATES, raisedAlarms } from '../deployment-state.ts';
import { completenessText, headlineOf, isFuture, nightRecord, outcomeText } from '../report/night-words.ts';
import { describeError, orUnknown } from '../support/aws-error.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { withPlace } from '../support/command-text.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import { printJson, printOut } from '../support/print.ts';
import { clientSettings, connect, lazyClients, type Target, type TargetOptions } from '../support/target.ts';
import { painterOf, printableLine, SIGNS, textTable } from '../support/text.ts';
import { adviceFor, CELLS, type EntityNights, NIGHT_OUTCOMES, type Nights, nightsOf } from './night.ts';
import { gatherFacts } from './night-facts.ts';

interface StatusOptions extends TargetOptions {
  allDeployments?: boolean;
  date?: string;
  json?: boolean;
}

/** The time limit of a call, so that one deployment without an answer does not delay the lines of the others. */
const CALL_SECONDS = 20;

/** Runs the command `status`, which changes nothing. */
export async function status(options: StatusOptions): Promise<void> {
  const now = new Date();
  if (options.allDeployments) return statusOfAll({ callTimeout: CALL_SECONDS, ...options }, now);
  const found = await statusOf(await connect(options), options, now);
  process.exitCode = found.ok ? 0 : RUN_FAILED;
  if (options.json) printJson(found);
  else printOut(statusText(found, options, process.stdout));
}

const startSchema = z.object({ entity: entitySchema, at: z.iso.datetime(), date: z.iso.date() });

const rowSchema = z.object({
  entity: entitySchema,
  date: z.iso
    .date()
    .check(z.describe('The judged date: the date of the night that began last, or of the newest start.')),
  state: z.enum(NIGHT_OUTCOMES),
  missing: z.boolean().check(z.describe('The date is due, and readers do not have all of it.')),
  rule: z.enum(RULE_STATES).check(z.describe('paused: a person switched the rule off. off: the configuration does.')),
  run: z.nullable(z.string()).check(z.describe('The run that published the file, or else the newest attempt.')),
  error: z.nullable(z.string()),
  failedSince: z
    .nullable(z.object({ run: z.string(), error: z.nullable(z.string()) }))
    .check(z.describe('The newest run of the entity, if it failed.')),
  readers: z
    .nullable(z.object({ date: z.iso.date(), run: z.string(), startedAt: z.iso.datetime(), hours: z.int() }))
    .check(z.describe('The newest published file, and how long ago its run started; null = no file.')),
  advice: z.nullable(z.string()).check(z.describe('The command to type.')),
});
export type StatusRow = z.infer<typeof rowSchema>;

export const statusSchema = z.object({
  deployment: z.string(),
  madeAt: z.iso.datetime(),
  ok: z
    .boolean()
    .check(z.describe('Whether readers have every date that is due, no newer run failed, and the grant can be used.')),
  headline: z.string(),
  entities: z.array(rowSchema),
  night: z
    .nullable(z.object({ date: z.iso.date(), revision: z.int(), complete: z.boolean(), lacking: z.array(z.string()) }))
    .check(
      z.describe('The night as its object in the bucket has it (docs/reading.md); null = no such object, or unknown.'),
    ),
  alarms: z.nullable(z.array(z.string())).check(z.describe('Alarms that are raised now; null if unknown.')),
  grant: z
    .nullable(z.object({ obtainedAt: z.nullable(z.iso.datetime()), trouble: z.nullable(z.string()) }))
    .check(z.describe('When the tokens were obtained, and why the grant cannot be used; null if unknown.')),
  nextStart: z.nullable(startSchema).check(z.describe('The next start; null if there is none or the time is unknown.')),
  warnings: z.array(z.string()).check(z.describe('Data that the command could not read.')),
});
export type Status = z.infer<typeof statusSchema>;

/** Number of nights to read: a run may take up to two days. */
const NIGHTS = 3;

/** @param options select the deployment; commands in the advice repeat them */
async function statusOf(target: Target, { date, ...place }: StatusOptions, now: Date): Promise<Status> {
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(withPlace(sentence, place));
  const { deployment } = place;
  const nights = date === undefined ? NIGHTS : Math.max(NIGHTS, Math.ceil((now.getTime() - Date.parse(date)) / DAY_MS));
  const [facts, alarms] = await Promise.all([
    gatherFacts(target, { deployment, nights, now, warn }),
    orUnknown(raisedAlarms(target), warn, 'The state of the alarms is unknown'),
  ]);
  const data = nightsOf(facts, date);
  const { tone, text: headline } = headlineOf(data);
  const entities = isFuture(data) ? [] : data.rows.map((row) => rowOf(data, row, place));
  const night = data.exported ? null : nightRecord(data, data.lastNight);
  const answer = { deployment, madeAt: now.toISOString(), ok: tone !== 'bad', headline, entities, night };
  return { ...answer, alarms, grant: facts.grant, nextStart: firstStart(data.rows), warnings };
}

function rowOf(data: Nights, { last, rule, failedSince }: EntityNights, place: TargetOptions): StatusRow {
  const { entity, date, outcome, missing, published, attempts, error } = last;
  const pointer = data.newest[entity];
  const readers = (of: NonNullable<typeof pointer>) => {
    const hours = hoursBetween(of.startedAt, data.now.toISOString());
    return { date: of.date, run: of.execution, startedAt: of.startedAt, hours };
  };
  const night = data.rows.map((row) => row.last);
  const warned = outcome === 'warned' ? published?.execution : undefined;
  const toShow = failedSince?.run ?? warned;
  return {
    entity,
    date,
    state: outcome,
    missing,
    rule,
    run: published?.execution ?? attempts.at(-1)?.run ?? null,
    error,
    failedSince: failedSince && { run: failedSince.run, error: failedSince.error },
    readers: pointer ? readers(pointer) : null,
    advice: missing ? adviceFor(last, night, data, place) : toShow ? commandFor(`show ${quoted(toShow)}`, place) : null,
  };
}

function firstStart(rows: EntityNights[]): Status['nextStart'] {
  const starts = rows.flatMap(({ entity, next }) => (next ? [{ entity, ...next }] : []));
  const [first] = starts.sort((one, other) => one.at.getTime() - other.at.getTime());
  return first ? { ...first, at: first.at.toISOString() } : null;
}

type Stream = { isTTY?: boolean };

/** The screen of one deployment: the answer, the missing dates with commands, then the rest. */
export function statusText(status: Status, place: TargetOptions, stream: Stream): string {
  const { deployment, headline, entities, warnings } = status;
  const paint = painterOf(stream);
  const tone = toneOf(status);
  const warned = warnings.map((warning) => paint('warned')(`! ${printableLine(warning)}`));
  if (entities.length === 0) return [paint(tone)(`${SIGNS[tone]} ${headline} (${deployment}).`), ...warned].join('\n');
  return [
    paint(tone)(`${SIGNS[tone]} ${headline} (${deployment})`),
    '',
    ...tableLines(entities, stream),
    '',
    ...footLines(status, place, stream),
    ...warned,
  ].join('\n');
}

function toneOf({ ok, entities }: Pick<Status, 'ok' | 'entities'>): 'good' | 'bad' | 'open' {
  if (!ok) return 'bad';
  const tones = entities.map(({ state }) => CELLS[state].tone);
  return tones.includes('open') || tones.every((tone) => tone === 'idle') ? 'open' : 'good';
}

/** A table with missing dates first, each with its command below it. */
function tableLines(entities: StatusRow[], stream: Stream): string[] {
  const place = (row: StatusRow) => (row.missing || row.failedSince ? 0 : CELLS[row.state].tone === 'open' ? 1 : 2);
  const alike = ({ state, advice }: StatusRow) => `${state} ${advice}`;
  const rows = entities.toSorted((a, b) => place(a) - place(b) || (a.missing ? alike(a).localeCompare(alike(b)) : 0));
  const severalDates = new Set(rows.map(({ date }) => date)).size > 1;
  const cells = rows.map((row) => [
    `${row.failedSince ? SIGNS.bad : CELLS[row.state].sign || '·'} ${row.entity}`,
    outcomeText({ outcome: row.state, error: row.error }, row),
    ...(severalDates ? [row.date] : []),
    row.readers ? `${row.readers.date}, ${ageText(row.readers.hours)} old` : 'nothing',
  ]);
  const ofState = severalDates ? ['state', 'of'] : [rows[0]?.date ?? ''];
  const names = ['entity', ...ofState, 'readers have'];
  const paint = painterOf(stream);
  const lines = textTable(names, cells).split('\n');
  return lines.flatMap((line, index) => {
    const row = rows[index - 1];
    if (!row) return [line];
    const tone = row.failedSince ? 'bad' : CELLS[row.state].tone;
    return [
      paint(tone)(line),
      ...(row.advice && row.advice !== rows[index]?.advice ? [`    -> ${printableLine(row.advice)}`] : []),
    ];
  });
}

function footLines(status: Status, place: TargetOptions, stream: Stream): string[] {
  const { alarms, grant, nextStart, madeAt, night, entities } = status;
  const bad = painterOf(stream)('bad');
  const at =
    nextStart && `${nextStart.at.slice(0, 16).replace('T', ' ')} UTC, ${nextStart.entity} of ${nextStart.date}`;
  const isPaused = (entity: string) => entities.some((row) => row.entity === entity && row.rule === 'paused');
  const authorize = `    -> ${commandFor('authorize', place)}`;
  const ofGrant = grant?.trouble
    ? // Without readable tokens, the sentence names the command.
      [bad(`Grant: ${printableLine(withPlace(grant.trouble, place))}`), ...(grant.obtainedAt ? [authorize] : [])]
    : grant?.obtainedAt && [`Grant: tokens obtained ${ageText(hoursBetween(grant.obtainedAt, madeAt))} ago`];
  return [
    ...(night ? [`Night of ${night.date}: ${completenessText(night, isPaused)}`] : []),
    alarms?.length
      ? bad(`Alarms raised: ${alarms.join(', ')}; see docs/runbook.md`)
      : `Alarms: ${alarms ? 'none is raised' : 'unknown'}`,
    ...(ofGrant || []),
    `Next start: ${at ?? 'none known'}`,
  ];
}

function hoursBetween(time: string, now: string): number {
  return Math.floor((Date.parse(now) - Date.parse(time)) / 3_600_000);
}

function ageText(hours: number): string {
  if (hours < 1) return '<1 h';
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

/** The status of a deployment, or a sentence that says why it is unknown. */
type DeploymentResult = { deployment: string } & ({ found: Status; why: null } | { found: null; why: string });

/** Deployments at a time: Step Functions allows two to five `ListExecutions` a second for an account, by region. */
const AT_ONCE = 5;

/** The status of every deployment, a few at a time. An unreadable deployment does not stop the others. */
async function statusOfAll(options: StatusOptions, now: Date): Promise<void> {
  const { json } = options;
  const resultOf = async (deployment: string): Promise<DeploymentResult> => {
    const place = { ...options, deployment };
    try {
      return { deployment, found: await statusOf(await connect(place), place, now), why: null };
    } catch (error) {
      return { deployment, found: null, why: describeError(error).sentence };
    }
  };
  const results = await eachOf(await deploymentsIn(options), resultOf, AT_ONCE);
  // A known problem takes precedence over an unknown status.
  if (results.some(({ found }) => found?.ok === false)) process.exitCode = RUN_FAILED;
  else process.exitCode = results.every(({ found }) => found) ? 0 : ENVIRONMENT;
  if (!json) return printOut(allText(results, process.stdout));
  const deployments = results.map(({ deployment, found, why }) => ({ deployment, why, ...found }));
  printJson({ madeAt: now.toISOString(), ok: process.exitCode === 0, deployments });
}

const NAME = /^crm-export-([a-z][a-z0-9-]{0,30})$/;

/**
 * The names of all deployments in the account and region, in alphabetical order: a deployment is a stack
 * `crm-export-NAME`.
 * @throws CommandError (exit code 3) if there is none
 */
async function deploymentsIn(place: TargetOptions): Promise<string[]> {
  const client = lazyClients(clientSettings(place)).cloudformation;
  const names = new Set<string>();
  for await (const { StackSummaries = [] } of paginateListStacks({ client }, {})) {
    for (const { StackName = '', StackStatus = '' } of StackSummaries) {
      const name = NAME.exec(StackName)?.[1];
      // AWS lists a stack for 90 days after its deletion.
      if (name && StackStatus !== 'DELETE_COMPLETE') names.add(name);
    }
  }
  if (names.size > 0) return [...names].sort();
  const sentence = `There is no deployment in this account and region: check --profile and --region (this is ${await client.config.region()}).`;
  throw new CommandError(sentence, ENVIRONMENT);
}

const FIRST = ['bad', 'unknown', 'open', 'good'] as const;

/** One line for each deployment. Deployments that need attention come first. */
export function allText(results: DeploymentResult[], stream: Stream): string {
  const paint = painterOf(stream);
  const rows = results.map((each) => ({ ...each, tone: each.found ? toneOf(each.found) : 'unknown' }) as const);
  const sorted = rows.toSorted((one, other) => FIRST.indexOf(one.tone) - FIRST.indexOf(other.tone));
  return sorted
    .map(({ deployment, found, why, tone }) => {
      const alarms = found?.alarms?.length === 0 ? '' : `; alarms: ${found?.alarms?.join(', ') ?? 'unknown'}`;
      const text = found ? `${found.headline}${alarms}` : `unknown: ${printableLine(why ?? '')}`;
      return paint(tone)(`${SIGNS[tone]} ${deployment}: ${text}`);
    })
    .join('\n');
}
