import { lackingIn } from '../../core/night/marker.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { grantOf, raisedAlarms } from '../deployment-state.ts';
import { answerOf, LAST_NIGHT } from '../report/night-words.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { completed } from '../support/completed.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import { printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { allText, type DeploymentResult, eachDeployment } from './all-deployments.ts';
import { adviceFor, type Cell, type EntityNights, type Nights, nightsOf } from './night.ts';
import { type Facts, gatherFacts } from './night-facts.ts';
import type { Status, StatusRow } from './status-schema.ts';
import { hoursBetween, statusText } from './status-text.ts';

interface StatusOptions extends TargetOptions {
  allDeployments?: boolean;
  date?: string;
  json?: boolean;
}

/** One deployment that does not answer must not hold up the lines of the others for long. */
const CALL_SECONDS = 20;

/** `status`, which changes nothing. */
export async function status(options: StatusOptions): Promise<void> {
  const now = new Date();
  const { date, json } = options;
  if (options.allDeployments) {
    const place = { callTimeout: CALL_SECONDS, ...options };
    const looks = await eachDeployment(place, (target, deployment) =>
      statusOf(target, { ...options, deployment }, date, now),
    );
    const codes = looks.map(({ found }) => (found ? exitCodeOf(found) : ENVIRONMENT));
    // The smallest code other than 0: a known problem (1) takes precedence over an unknown status (3).
    process.exitCode = codes.filter((code) => code !== 0).sort()[0] ?? 0;
    return json ? printJson(documentOf(looks, now)) : printOut(allText(looks, process.stdout));
  }
  const found = await statusOf(await connect(options), options, date, now);
  process.exitCode = exitCodeOf(found);
  if (json) printJson(found);
  else printOut(statusText(found, options, process.stdout));
}

function exitCodeOf({ ok }: Status): number {
  return ok ? 0 : RUN_FAILED;
}

function documentOf(looks: DeploymentResult[], now: Date) {
  const deployments = looks.map(({ deployment, found, why }) => ({ deployment, why, ...found }));
  return { madeAt: now.toISOString(), ok: process.exitCode === 0, deployments };
}

/** Number of nights to read: a run may take up to two days. */
const NIGHTS = 3;
const DAY_MS = 86_400_000;

/**
 * @param place the options that select the deployment; commands in the advice repeat them
 * @param date the requested date; by default the night that began last
 */
async function statusOf(target: Target, place: TargetOptions, date: string | undefined, now: Date): Promise<Status> {
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(completed(sentence, place));
  const { deployment } = place;
  const configured = await deployedConfiguration(target, warn);
  const nights = date === undefined ? NIGHTS : Math.max(NIGHTS, Math.ceil((now.getTime() - Date.parse(date)) / DAY_MS));
  const [facts, grant, alarms] = await Promise.all([
    gatherFacts(target, { deployment, configured, nights, now, warn }),
    grantOf(target, warn, now),
    raisedAlarms(target, warn),
  ]);
  const judged = judge(facts, place, date);
  const dead =
    judged.ok && grant?.trouble ? { ok: false, headline: `${judged.headline}; the grant cannot be used` } : {};
  return { deployment, ...judged, ...dead, alarms, grant, warnings };
}

type Judged = Pick<Status, 'madeAt' | 'ok' | 'headline' | 'entities' | 'nextStart' | 'night'>;

function judge(facts: Facts, place: TargetOptions, date: string | undefined): Judged {
  const { now, configured } = facts;
  const nights = nightsOf(facts, date === undefined ? [] : [date]);
  const rows = nights.rows.map((row) => {
    const [asked] = row.cells;
    return asked ? { ...row, last: asked, failedSince: null } : row;
  });
  const all = { madeAt: now.toISOString(), nextStart: firstStart(rows) };
  if (date !== undefined && date > dateIn(configured.timeZone, now)) {
    const headline = `No run of ${date} is due yet: the date is in the future`;
    return { ...all, ok: true, headline, entities: [], night: null };
  }
  const cells = rows.map(({ last }) => last);
  const exported = date === undefined ? nights.exported : null;
  const names = date === undefined ? LAST_NIGHT : { past: date, open: date };
  const ok = rows.every(({ last, failedSince }) => !last.missing && !failedSince);
  const headline = answerOf({ ...nights, rows, exported }, names).text;
  const entities = rows.map((row) => ({ ...rowOf(facts, row), advice: adviceOf(row, cells, facts, place) }));
  return { ...all, ok, headline, entities, night: exported ? null : nightOf(nights, date) };
}

/** The record of the requested date, or of the night that began last. */
function nightOf({ lastNight, recorded }: Nights, asked = lastNight): Status['night'] {
  const night = recorded.find(({ date }) => date === asked);
  if (!night) return null;
  const { date, revision, complete } = night;
  return { date, revision, complete, lacking: complete ? [] : lackingIn(night) };
}

function rowOf(facts: Facts, { last, rule, failedSince }: EntityNights): Omit<StatusRow, 'advice'> {
  const { entity, date, outcome, missing, published, attempts, error } = last;
  const pointer = facts.newest[entity];
  const readers = (of: NonNullable<typeof pointer>) => {
    const hours = hoursBetween(of.startedAt, facts.now.toISOString());
    return { date: of.date, run: of.execution, startedAt: of.startedAt, hours };
  };
  return {
    entity,
    date,
    state: outcome,
    missing,
    rule,
    run: published?.manifest.execution ?? attempts.at(-1)?.run ?? null,
    error,
    failedSince: failedSince && { run: failedSince.run, error: failedSince.error },
    readers: pointer ? readers(pointer) : null,
  };
}

function firstStart(rows: EntityNights[]): Status['nextStart'] {
  const starts = rows.flatMap(({ entity, next }) => (next ? [{ entity, ...next }] : []));
  const [first] = starts.sort((one, other) => one.at.getTime() - other.at.getTime());
  return first ? { ...first, at: first.at.toISOString() } : null;
}

/** The command to type; `null` if nothing is wrong. */
function adviceOf({ last, failedSince }: EntityNights, night: Cell[], facts: Facts, place: TargetOptions) {
  if (!last.missing) return failedSince && commandFor(`show ${quoted(failedSince.run)}`, place);
  return adviceFor(last, night, facts, place);
}
