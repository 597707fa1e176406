import { readConfiguration } from '../../core/config/configuration.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { dependsOnDate } from '../../core/config/relative-date.ts';
import { timingOf } from '../../core/config/timing.ts';
import { planFor } from '../../core/export/plan.ts';
import { resolveDates } from '../../core/export/relative-dates.ts';
import { buildRequest } from '../../core/export/request.ts';
import { dateIn, offsetAt } from '../../core/schedule/local-time.ts';
import { nextStarts } from '../../core/schedule/next-starts.ts';
import { type RuleState, rulesOf } from '../deployment-state.ts';
import { orUnknown } from '../support/aws-error.ts';
import { commandFor } from '../support/command-options.ts';
import { withPlace } from '../support/command-text.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';

interface PlanOptions extends TargetOptions {
  configuration?: string;
  date?: string;
  json?: boolean;
}

const STARTS = 5;
/** A short limit, so that `plan` does not wait for a stack that does not answer. */
const CALL_SECONDS = 5;
/** `plan` sends no request, so a local configuration needs no local cloud. */
const NO_CLOUD = 'http://127.0.0.1';

/** Runs the command `plan`, which reads the configuration file and the state of the deployed rules. */
export async function plan(named: Entity[] = [], options: PlanOptions): Promise<void> {
  const { deployment } = readConfiguration(options.deployment, options.configuration, NO_CLOUD);
  const date = options.date ?? dateIn(deployment.timeZone, new Date());
  // Before the first deployment there are no rules.
  const read = async () => rulesOf(await connect({ ...options, callTimeout: CALL_SECONDS }), deployment);
  const rules = options.configuration ? null : await orUnknown(read(), printErr, 'The rules were not read');
  const entities = named.length > 0 ? named : ENTITIES;
  const all = entities.map((entity) => plannedRun(deployment, entity, date, rules?.[entity] ?? null));
  if (options.json) for (const planned of all) printJson(planned);
  else printOut(all.map((planned) => plannedText(planned, deployment, options)).join('\n\n'));
}

type PlannedRun = ReturnType<typeof plannedRun>;

/**
 * The request of the next run of an entity, as `--json` prints it.
 * @param rule the state of the deployed rule; `null` if there is no deployment, or its rules were not asked for
 */
function plannedRun(deployment: Deployment, entity: Entity, date: string, rule: RuleState | null) {
  const { crm, timeZone } = deployment;
  const configured = deployment.entities[entity];
  const request = resolveDates(buildRequest({ entity }, configured, crm, []), { date, timeZone });
  const comes = configured.enabled && rule !== 'paused' && rule !== 'withoutRule';
  const starts = comes ? nextStarts(timingOf(deployment, entity), new Date(), STARTS) : [];
  return {
    entity,
    date,
    /** The body of the request, with the columns of its plan: `"all"`, a list, or those that are left out. */
    request: { ...request, columns: planFor(configured, { entity }).columns },
    /** The next starts; empty if the rule is off, `null` if the schedule does not determine them. */
    nextStarts:
      starts?.map(({ at, date }) => ({ date, local: localText(timeZone, at), utc: at.toISOString() })) ?? null,
    rule,
    /** The conditions that a file must meet before it is published. */
    guards: configured.guards,
  };
}

/** A time with its offset: `2026-11-23T02:00:00+02:00`. */
function localText(timeZone: string, at: Date): string {
  const offset = offsetAt(timeZone, at.getTime());
  const shown = (time: number) => new Date(time).toISOString();
  const sign = offset < 0 ? '-' : '+';
  return `${shown(at.getTime() + offset).slice(0, 19)}${sign}${shown(Math.abs(offset)).slice(11, 16)}`;
}

function plannedText(planned: PlannedRun, deployment: Deployment, options: PlanOptions): string {
  const { entity, date, request, guards } = planned;
  const { timeZone } = deployment;
  const kind = dependsOnDate(deployment.entities[entity].filters) ? 'window' : 'full';
  return [
    `${entity} of ${date} in ${timeZone}, kind: ${kind}`,
    `  POST /${entity}/exports`,
    bodyText(request).replace(/^/gm, '    '),
    '  Next starts',
    ...startLines(planned, timeZone, options).map((line) => `    ${line}`),
    '  Checks',
    ...Object.entries(guards).map(([guard, bound]) => `    ${guard}: ${bound}`),
  ].join('\n');
}

/** The body of the request. A run learns the columns of the CRM when it starts, so a text stands for their list. */
function bodyText({ columns, ...request }: PlannedRun['request']): string {
  const except = typeof columns === 'object' && 'except' in columns ? ` except ${columns.except.join(', ')}` : '';
  const listed = Array.isArray(columns) ? columns : `all that the CRM lists${except}`;
  return JSON.stringify({ columns: listed, ...request }, undefined, 2);
}

function startLines({ entity, rule, nextStarts: starts }: PlannedRun, timeZone: string, place: PlanOptions): string[] {
  if (rule === 'paused')
    return ['None: the rule is paused. To switch it on:', `-> ${commandFor(`resume ${entity}`, place)}`];
  if (rule === 'withoutRule') {
    const restore = withPlace('npx cdk deploy --revert-drift', place);
    return ['None: the rule was deleted. To restore it:', `-> ${restore}`];
  }
  if (!starts) return ['Unknown: rate(…) counts from when the rule was created.'];
  if (starts.length === 0) return [`None: entities.${entity}.enabled is false, or the schedule has no further start.`];
  const minute = (time: string) => time.slice(0, 16).replace('T', ' ');
  const changed =
    'The deployed rule starts at other times: this configuration is not deployed, or a person changed the rule. Configured:';
  return [
    ...(rule === 'changed' ? [changed] : []),
    ...starts.map(({ local, utc }) => {
      const inUtc = `${minute(utc)} UTC`;
      return timeZone === 'UTC' ? inUtc : `${minute(local)} ${timeZone} (${inUtc})`;
    }),
  ];
}
