import { DescribeExecutionCommand, paginateListExecutions, type SFNClient } from '@aws-sdk/client-sfn';
import { CRM_EXPORT } from '../../core/commands.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { entitySchema } from '../../core/config/entity-schema.ts';
import { DAY_MS, dateIn } from '../../core/schedule/local-time.ts';
import { suggestion } from '../../core/suggestion.ts';
import { usageError } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Execution, executionOf, hasNoExport, runOf } from './run.ts';

/** Step Functions allows about 15 DescribeExecution calls a second. */
const DESCRIBED_AT_ONCE = 10;

/**
 * @param run name, unique end of a name, ARN, or an entity for its newest run (with `date`: its newest of that date)
 * @throws CommandError (exit code 2) with the nearest name, or with all names of this end
 */
export async function findRun(target: Target, run: string, date?: string): Promise<Execution> {
  const entity = entitySchema.safeParse(run);
  if (entity.success) {
    const found = await newestExecution(target, entity.data, date);
    if (found) return found;
    const isPast = date !== undefined && date < dateIn(target.TimeZone, new Date());
    const none = `There is no run of ${run}${date ? ` for ${date}` : ''}`;
    throw usageError(
      isPast
        ? `${none}. The runs of the last 90 days: ${CRM_EXPORT} list ${run} --since 90d.`
        : `${none} yet. To start one: ${CRM_EXPORT} start ${run}.`,
    );
  }
  if (date !== undefined) throw usageError('--date needs an entity: a run has its own date.');
  const named = (name: string) => describe(target.sfn, arnOf(target, name));
  const found = (await named(run)) ?? (await named(await runEnding(target, run)));
  if (found) return found;
  throw usageError(`The run ${run} is listed, but Step Functions does not have it.`);
}

/** A run as by `findRun`, and its entity. @param what sentence end, if the input names no entity: `to release` */
export async function findRunOfEntity(
  target: Target,
  run: string,
  date: string | undefined,
  what: string,
): Promise<{ entity: Entity; found: Execution }> {
  const found = await findRun(target, run, date);
  const { entity } = found.input;
  if (entity) return { entity, found };
  throw usageError(`The input of ${found.name} names no entity, so there is nothing ${what}.`);
}

async function newestExecution(
  target: Target,
  entity: Entity,
  date: string | undefined,
): Promise<Execution | undefined> {
  // A run is never for a date in the future of its time zone. So in UTC it starts at most one day before its date.
  const since = date === undefined ? undefined : new Date(Date.parse(date) - DAY_MS);
  for await (const found of executionsOf(target, { since })) {
    const isOfDate = date === undefined || runOf(found, { timeZone: target.TimeZone }).date === date;
    if (found.input.entity === entity && isOfDate) return found;
  }
  return undefined;
}

export interface RunFilter {
  since?: Date | undefined;
  /** Selects runs that did not succeed. With `running` as well, runs of both kinds are selected. */
  failed?: boolean | undefined;
  running?: boolean | undefined;
  /** Entities of published runs, by execution name: these executions need no DescribeExecution call. */
  published?: ReadonlyMap<string, Entity> | undefined;
}

/** Runs of the last 90 days, newest first, without the starts that requested no export. */
export async function* executionsOf(
  { sfn, StateMachineArn: stateMachineArn }: Target,
  { since, failed, running, published }: RunFilter,
): AsyncGenerator<Execution> {
  const wanted = { stateMachineArn, ...(running && !failed && { statusFilter: 'RUNNING' as const }) };
  for await (const { executions = [] } of paginateListExecutions({ client: sfn }, wanted)) {
    const young = executions.filter(({ startDate }) => !since || (startDate && startDate >= since));
    const wanted = young.filter(({ status = '' }) => {
      if (!running && !failed) return true;
      return status === 'RUNNING' ? running : failed && status !== 'SUCCEEDED';
    });
    for (let first = 0; first < wanted.length; first += DESCRIBED_AT_ONCE) {
      const described = wanted.slice(first, first + DESCRIBED_AT_ONCE).map((item) => {
        const entity = item.status === 'SUCCEEDED' && published?.get(item.name ?? '');
        return entity ? executionOf({ ...item, input: JSON.stringify({ entity }) }) : describe(sfn, item.executionArn);
      });
      for (const execution of await Promise.all(described))
        if (execution && !hasNoExport(runOf(execution))) yield execution;
    }
    if (young.length < executions.length) return;
  }
}

async function describe(sfn: SFNClient, executionArn: string | undefined): Promise<Execution | undefined> {
  if (executionArn === undefined) return undefined;
  try {
    return executionOf(await sfn.send(new DescribeExecutionCommand({ executionArn })));
  } catch (error) {
    if (error instanceof Error && /^(ExecutionDoesNotExist|InvalidArn)$/.test(error.name)) return undefined;
    throw error;
  }
}

/** The ARN for a name; `undefined` if no run can have it. @throws CommandError (exit code 2) for another machine's ARN */
function arnOf({ StateMachineArn }: Target, run: string): string | undefined {
  const prefix = `${StateMachineArn.replace(':stateMachine:', ':execution:')}:`;
  if (run.startsWith(prefix)) return run;
  if (run.startsWith('arn:')) {
    const text = `This ARN does not name a run of the deployment. The ARNs of its runs start with "${prefix}". Check --deployment.`;
    throw usageError(text);
  }
  return /^[^\s"#%\\^|~`$&,;:/<>{}[\]?*]{1,80}$/.test(run) ? `${prefix}${run}` : undefined;
}

/** Number of newest names to compare with an unknown name. */
const NAMES_COMPARED = 200;

/** The full name of the one run with this end. @throws CommandError (exit code 2) if no run or several runs match */
async function runEnding({ sfn: client, StateMachineArn: stateMachineArn }: Target, end: string): Promise<string> {
  const names: string[] = [];
  for await (const { executions = [] } of paginateListExecutions({ client, pageSize: 1000 }, { stateMachineArn })) {
    names.push(...executions.flatMap(({ name }) => name ?? []));
  }
  const found = nameEnding(end, names);
  if (found !== undefined) return found;
  const newest = names.slice(0, 3).join(', ');
  const newestRuns = newest === '' ? ': no run has started yet' : `. The newest runs: ${newest}`;
  const near = suggestion(end, [...ENTITIES, ...names.slice(0, NAMES_COMPARED)]);
  throw usageError(`There is no run "${end}"${near}${newestRuns}.`);
}

/** Shorter ends would match runs by accident. */
const SHORTEST_END = 4;
const NAMES_SHOWN = 5;

/** The only name with this end; `undefined` without a match. @throws CommandError (exit code 2) if several match */
export function nameEnding(end: string, names: string[]): string | undefined {
  const found = end.length < SHORTEST_END ? [] : names.filter((name) => name.endsWith(end));
  if (found.length < 2) return found[0];
  const more = found.length > NAMES_SHOWN ? ` and ${found.length - NAMES_SHOWN} more` : '';
  const some = found.slice(0, NAMES_SHOWN).join(', ');
  throw usageError(`${found.length} runs end in "${end}": ${some}${more}. Type more of the name.`);
}
