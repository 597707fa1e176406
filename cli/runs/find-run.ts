import { DescribeExecutionCommand, type ExecutionListItem, paginateListExecutions } from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import { CRM_EXPORT } from '../../core/commands.ts';
import { ENTITIES, type Entity, entitySchema } from '../../core/config/entities.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { suggestion } from '../../core/suggestion.ts';
import { dateArgument } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type FoundRun, foundRun, readInput, runOf } from './run.ts';

/** The state machine whose runs are searched. */
export type ExportMachine = Pick<Target, 'sfn' | 'StateMachineArn'>;

/** The state machine, and the time zone that decides the dates of its runs. */
type DatedMachine = ExportMachine & Pick<Target, 'TimeZone'>;

const DAY_MS = 86_400_000;
/** Step Functions allows about 15 DescribeExecution calls a second. */
const DESCRIBED_AT_ONCE = 10;

/**
 * @param run name, unique end of a name, ARN, or an entity for its newest run (with `date`: its newest of that date)
 * @throws CommandError (exit code 2) with the nearest name, or with all names of this end
 */
export async function findRun(target: DatedMachine, run: string, date?: string): Promise<FoundRun> {
  const entity = entitySchema.safeParse(run);
  if (entity.success) {
    const found = await newestOf(target, entity.data, date);
    if (found) return found;
    const isPast = date !== undefined && date < dateIn(target.TimeZone, new Date());
    const next = `${CRM_EXPORT} ${isPast ? 'list' : 'start'} ${run}`;
    throw new CommandError(
      `There is no run of ${run}${date ? ` for ${date}` : ''}${isPast ? '' : ' yet'}: ${next}.`,
      USAGE,
    );
  }
  if (date !== undefined) throw new CommandError('--date goes with an entity: a run has its own date.', USAGE);
  const found = await named(target, run);
  if (found) return found;
  const whole = await runEnding(target, run);
  const ended = await named(target, whole);
  if (ended) return ended;
  throw new CommandError(`The run ${whole} is listed, but not there.`, USAGE);
}

async function named(target: ExportMachine, run: string): Promise<FoundRun | undefined> {
  const executionArn = arnOf(target, run);
  return executionArn === undefined ? undefined : describe(target, executionArn);
}

async function newestOf(target: DatedMachine, entity: Entity, date: string | undefined): Promise<FoundRun | undefined> {
  // A run is never for a future date in its time zone, so it starts at most a day before that date in UTC.
  const since = date === undefined ? undefined : new Date(Date.parse(date) - DAY_MS);
  for await (const newest of executionsOf(target, { entity, since })) {
    if (date === undefined) return newest;
    const found = newest.execution ? newest : await describe(target, newest.executionArn);
    if (found && runOf(found, { timeZone: target.TimeZone }).date === date) return found;
  }
  return undefined;
}

interface Sought {
  since?: Date | undefined;
  /** Only runs that did not succeed. With `running`, runs of either kind. */
  failed?: boolean | undefined;
  running?: boolean | undefined;
  entity?: Entity | undefined;
  /** Entities by execution name; these executions need no DescribeExecution call. */
  known?: ReadonlyMap<string, Entity> | undefined;
}

/** Runs of the last 90 days, newest first. */
export async function* executionsOf(
  { sfn, StateMachineArn: stateMachineArn }: ExportMachine,
  options: Sought,
): AsyncGenerator<FoundRun> {
  const { running, failed } = options;
  const wanted = { stateMachineArn, ...(running && !failed && { statusFilter: 'RUNNING' as const }) };
  for await (const { executions = [] } of paginateListExecutions({ client: sfn }, wanted)) {
    const young = executions.filter(({ startDate }) => !options.since || (startDate && startDate >= options.since));
    const wanted = young.filter(({ status = '' }) => {
      if (!running && !failed) return true;
      return status === 'RUNNING' ? running : failed && status !== 'SUCCEEDED';
    });
    for (let first = 0; first < wanted.length; first += DESCRIBED_AT_ONCE) {
      const some = wanted.slice(first, first + DESCRIBED_AT_ONCE);
      const runs = await Promise.all(some.map((item) => withEntity({ sfn }, item, options.known)));
      yield* runs.filter((run) => (!options.entity || run.entity === options.entity) && !isWithoutJob(run));
    }
    if (young.length < executions.length) return;
  }
}

/** Matches names that commands give (`startRun`, `backfill`); for other runs only the input names the entity. */
const NAMED = /^(.+?)-(?:(?:(release|table)-)?\d{8}T\d{6}Z-[0-9a-f]{6}|backfill-\d{4}-\d\d-\d\d-\d+)$/;

async function withEntity(place: Pick<Target, 'sfn'>, item: ExecutionListItem, known: Sought['known']) {
  const { name = '' } = item;
  const [, beginning, kind] = NAMED.exec(name) ?? [];
  const entity = entitySchema.safeParse(beginning).data ?? known?.get(name);
  if (entity) return foundRun(item, entity, kind === 'release' || kind === 'table' ? kind : 'export');
  return (await describe(place, item.executionArn ?? '')) ?? foundRun(item, undefined, 'export');
}

async function describe({ sfn }: Pick<Target, 'sfn'>, executionArn: string): Promise<FoundRun | undefined> {
  try {
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    const { entity, what } = readInput(execution.input);
    return { ...foundRun(execution, entity, what), execution };
  } catch (error) {
    if (error instanceof Error && /^(ExecutionDoesNotExist|InvalidArn)$/.test(error.name)) return undefined;
    throw error;
  }
}

/** Whether a nightly rule started the execution without requesting an export. Commands never do this. */
export function isWithoutJob(found: FoundRun): boolean {
  const { outcome } = runOf(found);
  return outcome === 'notDue' || outcome === 'alreadyStarted';
}

/** The ARN for a name. @throws CommandError (exit code 2) if an ARN belongs to another state machine */
function arnOf({ StateMachineArn }: Pick<Target, 'StateMachineArn'>, run: string): string | undefined {
  const prefix = `${StateMachineArn.replace(':stateMachine:', ':execution:')}:`;
  if (run.startsWith(prefix)) return run;
  if (run.startsWith('arn:')) {
    const text = `This ARN is no run of the deployment, of which it begins with ${prefix}: check --deployment.`;
    throw new CommandError(text, USAGE);
  }
  return /^[^\s"#%\\^|~`$&,;:/<>{}[\]?*]{1,80}$/.test(run) ? `${prefix}${run}` : undefined;
}

/** Number of newest names to compare with an unknown name. */
const NAMES_COMPARED = 200;

/** Adds the argument of a command that works on one run, and the `--date` option for an entity. */
export function withRun(command: Command): Command {
  return command
    .argument('<run>', 'name of an execution, a unique end of it, its ARN, or an entity: its newest run')
    .option('--date <YYYY-MM-DD>', 'with an entity: its newest run for this date', dateArgument);
}

/** The full name of the one run with this end. @throws CommandError (exit code 2) if no run or several runs match */
async function runEnding(
  { sfn: client, StateMachineArn: stateMachineArn }: Pick<Target, 'sfn' | 'StateMachineArn'>,
  end: string,
): Promise<string> {
  const names: string[] = [];
  for await (const { executions = [] } of paginateListExecutions({ client, pageSize: 1000 }, { stateMachineArn })) {
    names.push(...executions.flatMap(({ name }) => name ?? []));
  }
  const found = nameEnding(end, names);
  if (found !== undefined) return found;
  const newest = names.slice(0, 3).join(', ');
  const known = newest === '' ? '; nothing ran here yet' : `; the newest runs are ${newest}`;
  const near = suggestion(end, [...ENTITIES, ...names.slice(0, NAMES_COMPARED)]);
  throw new CommandError(`There is no run "${end}"${near}${known}.`, USAGE);
}

/** Shorter ends would match runs by accident. */
const SHORTEST_END = 4;
const NAMES_SHOWN = 5;

/** The one name with this end; `undefined` without a match. @throws CommandError (exit code 2) if several match */
export function nameEnding(end: string, names: string[]): string | undefined {
  const found = end.length < SHORTEST_END ? [] : names.filter((name) => name.endsWith(end));
  if (found.length < 2) return found[0];
  const more = found.length > NAMES_SHOWN ? ` and ${found.length - NAMES_SHOWN} more` : '';
  const some = found.slice(0, NAMES_SHOWN).join(', ');
  throw new CommandError(`${found.length} runs end in "${end}": ${some}${more}; type more of the name.`, USAGE);
}
