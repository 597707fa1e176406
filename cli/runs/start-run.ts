import * as z from 'zod/mini';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { dependsOnDate } from '../../core/config/relative-date.ts';
import { dateProblem } from '../../core/export/valid-date.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { partialFailure } from '../support/aws-error.ts';
import { commandFor, entitiesOrAll } from '../support/command-options.ts';
import { deployedConfiguration, warnUnsettled } from '../support/deployed-configuration.ts';
import { usageError } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target } from '../support/target.ts';
import { startRun } from './executions.ts';
import { type FollowCommandOptions, followToTheEnd } from './follow.ts';
import { type Execution, type RunInput, runOf } from './run.ts';

interface StartOptions extends FollowCommandOptions {
  all?: boolean;
  date?: string;
  sameData?: boolean;
  acceptSchema?: boolean;
  wait?: boolean;
}

/**
 * `start`: starts one run for each entity, and follows the runs with `--wait`.
 * @throws CommandError: 1 if a followed run is not published, 2 for a date that no run can have
 */
export async function start(named: Entity[], options: StartOptions): Promise<void> {
  const asked = entitiesOrAll(named, options.all);
  const target = await connect(options);
  refuseDate(target, { date: options.date });
  const entities = options.all ? enabledIn(await deployedConfiguration(target)) : asked;
  const isPast = options.date !== undefined && options.date < dateIn(target.TimeZone, new Date());
  if (isPast && !options.sameData) await refuseSameData(target, entities, `under ${options.date}`);
  else if (!options.all) warnUnsettled(target);
  const { date, acceptSchema, json } = options;
  const input = { ...(date && { date }), ...(acceptSchema && { acceptSchema }) };
  const started: Execution[] = [];
  for (const entity of entities) {
    const begun = await startNamed(target, entity, input, options).catch((error: unknown) => {
      if (started.length === 0) throw error;
      const names = started.map(({ name }) => name).join(', ');
      const document = json ? { runs: runsOf(started) } : undefined;
      throw partialFailure(error, `Already started: ${names}; not started: ${entity}.`, document);
    });
    started.push(begun);
  }
  await afterStart(target, started, options);
}

/** The entities that `--all` means. @throws CommandError (exit code 2) if there are none */
export function enabledIn({ entities }: Deployment): Entity[] {
  const off = ENTITIES.filter((entity) => !entities[entity].enabled);
  if (off.length === ENTITIES.length)
    throw usageError('All entities are disabled in the configuration. Name the entities.');
  if (off.length > 0) printErr(`Left out, because they are disabled in the configuration: ${off.join(', ')}.`);
  return ENTITIES.filter((entity) => entities[entity].enabled);
}

/** Follows the runs with `--wait`; otherwise prints the command to follow them. */
export async function afterStart(
  target: Target,
  started: Execution[],
  options: FollowCommandOptions & { wait?: boolean },
): Promise<void> {
  if (options.wait) return followToTheEnd(target, started, options);
  if (options.json) printJson({ ok: true, runs: runsOf(started) });
  const follow = started.map(({ name }) => commandFor(`follow ${name}`, options));
  printErr(`To follow: ${follow.join('\n  ')}`);
}

function runsOf(started: Execution[]) {
  return started.map((execution) => runOf(execution));
}

/** Prints the ARN at once, because a later step may fail. */
export async function startNamed(
  target: Target,
  entity: Entity,
  input: object,
  { json }: FollowCommandOptions,
): Promise<Execution> {
  const started = await startRun(target, entity, input);
  if (!json) printOut(started.executionArn);
  return started;
}

/** Refuses a date that CreateExport would refuse. @throws CommandError (exit code 2) with the advice */
export function refuseDate({ TimeZone }: Target, { date, scheduledFor }: Partial<RunInput>, advice = ''): void {
  const wanted = date ?? (scheduledFor === undefined ? undefined : dateOf(TimeZone, scheduledFor));
  if (wanted === undefined) return;
  // The input of an earlier run may contain any text: the message repeats it only if it is a date.
  const isDate = z.iso.date().safeParse(wanted).success;
  const problem = isDate ? dateProblem(wanted, dateIn(TimeZone, new Date()), TimeZone) : NO_DATE;
  if (problem !== undefined) throw usageError(`${problem}${advice}`);
}

const NO_DATE =
  'The input of that run has an invalid "date" or "scheduledFor": a date has the form 2026-11-20, a time the form 2026-11-20T02:00:00Z.';

/** The date of a time in a time zone; empty if the text is not a valid time. */
export function dateOf(timeZone: string, time: string): string {
  const moment = new Date(time);
  return Number.isNaN(moment.getTime()) ? '' : dateIn(timeZone, moment);
}

/**
 * Refuses plans that do not depend on the date: a run would store the current records under a past date.
 * @param where the date in words, for the message
 * @throws CommandError (exit code 2)
 */
export async function refuseSameData(target: Target, entities: Entity[], where: string): Promise<void> {
  const deployed = await deployedConfiguration(target);
  const undated = entities.filter((entity) => !isDated(deployed, entity));
  if (undated.length === 0) return;
  const [it, plans] = undated.length > 1 ? ['do', 'plans'] : ['does', 'plan'];
  const what = `The deployed ${plans} of ${undated.join(', ')} ${it} not depend on the date, so every run would store today's data ${where}.`;
  const advice = `Add a date to entities.${undated.length > 1 ? 'ENTITY' : undated[0]}.filters (docs/configuration.md, Relative dates) and deploy, or add --same-data.`;
  throw usageError(`${what} ${advice}`);
}

/** Whether the plan of an entity selects other records for another date. @param deployment configured or deployed */
export function isDated({ entities }: Deployment, entity: Entity): boolean {
  const { filters = [] } = entities[entity];
  return dependsOnDate(filters) || filters.some((filter) => filter.dependsOnDate === true);
}
