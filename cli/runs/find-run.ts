import { DescribeExecutionCommand, type ExecutionListItem, paginateListExecutions } from '@aws-sdk/client-sfn';
import { ENTITIES, type Entity, entitySchema } from '../../core/config/entities.ts';
import { suggestion } from '../../core/suggestion.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { readInput } from './run/input.ts';
import { type FoundRun, foundRun, runOf } from './run/run.ts';

/** The machine whose runs are looked for. */
export type ExportMachine = Pick<Target, 'sfn' | 'StateMachineArn'>;

/** How many of the newest names are looked at: the nearest to an unknown name is suggested. */
const NAMES_LOOKED_AT = 200;
/** Step Functions allows some fifteen such calls a second. */
const DESCRIBED_AT_ONCE = 10;

/**
 * @param run an execution's name, its ARN, or an entity (its newest run)
 * @throws CommandError (exit code 2) with the nearest name
 */
export async function findRun(target: ExportMachine, run: string): Promise<FoundRun> {
  const entity = entitySchema.safeParse(run);
  if (entity.success) {
    for await (const newest of executionsOf(target, { entity: entity.data })) return newest;
    throw new CommandError(`There is no run of ${run} yet: npm run cli -- start ${run}.`, USAGE);
  }
  const executionArn = arnOf(target, run);
  const found = executionArn === undefined ? undefined : await describe(target, executionArn);
  if (found) return found;
  throw new CommandError(await unknownRun(target, run), USAGE);
}

interface Sought {
  since?: Date | undefined;
  /** Looks for runs that ended in anything but success, and no others. */
  failed?: boolean | undefined;
  running?: boolean | undefined;
  entity?: Entity | undefined;
  /** Starts that ended without a job too. */
  withoutJob?: boolean | undefined;
  /** Entities by the name of the execution; these executions are not described. */
  known?: ReadonlyMap<string, Entity> | undefined;
}

/** Runs of the last 90 days, newest first. */
export async function* executionsOf(
  { sfn, StateMachineArn: stateMachineArn }: ExportMachine,
  options: Sought,
): AsyncGenerator<FoundRun> {
  const wanted = { stateMachineArn, ...(options.running && { statusFilter: 'RUNNING' as const }) };
  for await (const { executions = [] } of paginateListExecutions({ client: sfn }, wanted)) {
    const young = executions.filter(({ startDate }) => !options.since || (startDate && startDate >= options.since));
    const wanted = young.filter(({ status = '' }) => {
      if (options.running) return status === 'RUNNING';
      return !options.failed || !['RUNNING', 'SUCCEEDED'].includes(status);
    });
    for (let first = 0; first < wanted.length; first += DESCRIBED_AT_ONCE) {
      const some = wanted.slice(first, first + DESCRIBED_AT_ONCE);
      const runs = await Promise.all(some.map((item) => withEntity({ sfn }, item, options.known)));
      yield* runs.filter(
        (run) => (!options.entity || run.entity === options.entity) && (options.withoutJob || !isWithoutJob(run)),
      );
    }
    if (young.length < executions.length) return;
  }
}

/** Matches names that commands give (`startRun`, `backfill`); of any other run only the input names the entity. */
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

/** Whether it was no run: a start by a rule that requested nothing. Commands give no such start. */
export function isWithoutJob(found: FoundRun): boolean {
  const { outcome } = runOf(found);
  return outcome === 'notDue' || outcome === 'alreadyStarted';
}

/** The ARN of a name. @throws CommandError (exit code 2) where an ARN is not of this deployment's machine */
function arnOf({ StateMachineArn }: Pick<Target, 'StateMachineArn'>, run: string): string | undefined {
  const prefix = `${StateMachineArn.replace(':stateMachine:', ':execution:')}:`;
  if (run.startsWith(prefix)) return run;
  if (run.startsWith('arn:')) {
    const text = `This ARN is no run of the deployment, of which it begins with ${prefix}: check --deployment.`;
    throw new CommandError(text, USAGE);
  }
  return /^[^\s"#%\\^|~`$&,;:/<>{}[\]?*]{1,80}$/.test(run) ? `${prefix}${run}` : undefined;
}

async function unknownRun(target: ExportMachine, run: string): Promise<string> {
  const client = { client: target.sfn, pageSize: NAMES_LOOKED_AT };
  const names: string[] = [];
  for await (const { executions = [] } of paginateListExecutions(client, { stateMachineArn: target.StateMachineArn })) {
    names.push(...executions.flatMap(({ name }) => name ?? []));
    if (names.length >= NAMES_LOOKED_AT) break;
  }
  const newest = names.slice(0, 3);
  const known = newest.length > 0 ? `; the newest runs are ${newest.join(', ')}` : '; nothing ran here yet';
  return `There is no run "${run}"${suggestion(run, [...ENTITIES, ...names])}${known}.`;
}
